package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWrapBreaksBetweenWords(t *testing.T) {
	t.Parallel()

	for text, want := range map[string][]string{
		"":               {""},
		"one":            {"one"},
		"one two three":  {"one two", "three"},
		"é é é é é":      {"é é é é", "é"},
		"abcdefghijklmn": {"abcdefg", "hijklmn"},
		"a\n  b":         {"a b"},
	} {
		if got := wrap(text, 7); !slices.Equal(got, want) {
			t.Errorf("wrap(%q): got %q, want %q", text, got, want)
		}
	}
}

func TestColoursAreForTerminalsAlone(t *testing.T) {
	t.Parallel()

	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	if colours(file) || colours(io.Discard) {
		t.Error("a file is taken for a terminal")
	}
}

func TestNoColorIsHonoured(t *testing.T) {
	t.Setenv("NO_COLOR", "1")

	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()

	if colours(device) {
		t.Error("colours in spite of NO_COLOR")
	}
}

func TestPaintChangesNoText(t *testing.T) {
	t.Parallel()

	coloured, bare := &page{coloured: true}, &page{}
	if got := coloured.paint(green, "x"); got != "\x1b[32mx\x1b[0m" {
		t.Errorf("got %q", got)
	}

	if got := bare.paint(green, "x"); got != "x" {
		t.Errorf("got %q", got)
	}
}

func TestHeadingFillsThePage(t *testing.T) {
	t.Parallel()

	var out strings.Builder

	(&page{out: &out}).heading("1 · é", "09:00:00")

	if line := strings.Trim(out.String(), "\n"); len([]rune(line)) != pageWidth {
		t.Errorf("%d columns: %s", len([]rune(line)), line)
	}
}
