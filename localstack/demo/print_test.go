package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWrapBreaksBetweenWords(t *testing.T) {
	t.Parallel()

	for text, want := range map[string][]string{
		"":               {""},
		"one two three":  {"one two", "three"},
		"é é é é é":      {"é é é é", "é"},
		"abcdefghij two": {"abcdefghij", "two"},
		"a\n  b":         {"a b"},
	} {
		if got := wrap(text, 7); !slices.Equal(got, want) {
			t.Errorf("wrap(%q): got %q, want %q", text, got, want)
		}
	}
}

func TestOnlyATerminalGetsColours(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()

	t.Setenv("NO_COLOR", "")

	if isTerminal(file) || !isTerminal(device) {
		t.Errorf("a file gets colours: %t, want false; a device does: %t, want true", isTerminal(file), isTerminal(device))
	}

	t.Setenv("NO_COLOR", "1")

	if isTerminal(device) {
		t.Error("a device gets colours in spite of NO_COLOR")
	}
}

func TestPaintAddsNothingWithoutColours(t *testing.T) {
	t.Parallel()

	if got := (&printer{coloured: true}).paint(green, "x"); got != "\x1b[32mx\x1b[0m" {
		t.Errorf("got %q", got)
	}

	if got := (&printer{}).paint(green, "x"); got != "x" {
		t.Errorf("got %q", got)
	}
}
