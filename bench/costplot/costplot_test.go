package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The picture shows what the tables say today. If they have changed, make bench-check WRITE=1 or go run ./bench/costplot draws it
// again.
func TestThePictureShowsTheTables(t *testing.T) {
	t.Parallel()

	root := filepath.Join("..", "..")

	page, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		t.Fatal(err)
	}

	want, err := plotOf(string(page))
	if err != nil {
		t.Fatal(err)
	}

	got, err := os.ReadFile(filepath.Join(root, plotFile))
	if err != nil {
		t.Fatal(err)
	}

	if string(got) != want {
		t.Errorf("%s is not what go run ./bench/costplot draws of %s today", plotFile, pageFile)
	}

	decoder := xml.NewDecoder(strings.NewReader(want))

	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
	}
}

func TestWhatTheTablesSayIsDrawn(t *testing.T) {
	t.Parallel()

	page := "\nMeasured on 1 May 2026.\n\n| what | requests: by hand | library | WCU: by hand | library | allocations |\n|---|--:|--:|--:|--:|--:|\n"
	for i, s := range shown {
		figures := "2 | 0.25 | 4 | 2.125"
		if i == 0 {
			figures = "1 | 1 | 8 | 1.5"
		}

		page += "| " + s.row + " | " + figures + " | – |\n"
	}

	picture, err := plotOf(page)
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{
		`<rect class="hand" x="290" y="68" width="95" height="12"/>`, `<text class="small" x="391" y="78">1</text>`, // half of the most
		`<rect class="hand" x="560" y="68" width="190" height="12"/>`, `<text class="small" x="756" y="78">8, $5.00</text>`,
		`>1.5, $0.94</text>`, `>0.25</text>`, `>2.12, $1.33</text>`, "make bench-check, 1 May 2026;", "prefers-color-scheme: dark",
	} {
		if !strings.Contains(picture, want) {
			t.Errorf("the picture lacks %s", want)
		}
	}

	for name, wrong := range map[string]string{
		"a row that is gone":      strings.Replace(page, shown[3].row, "another row", 1),
		"a number that is none":   strings.Replace(page, "| 8 |", "| many |", 1),
		"a page without its date": strings.Replace(page, "Measured", "Drawn", 1),
	} {
		if _, err := plotOf(wrong); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
