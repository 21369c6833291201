package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPictureOfTheStory compares docs/pictures/demo.svg with testdata/story.txt: the picture shows its result and its first two steps. After a
// change of the story, draw the picture anew:
//
//	go test ./localstack/demo -run 'Story$' -update
func TestPictureOfTheStory(t *testing.T) {
	t.Parallel()

	story, err := storyInMemory(t, pay)
	if err != nil {
		t.Fatal(err)
	}

	lines := strings.Split(story, "\n")
	from, to := slices.IndexFunc(lines, isStep("1")), slices.IndexFunc(lines, isStep("3"))

	if from < 0 || to < from {
		t.Fatalf("the story has no steps 1 to 3: lines %d and %d", from, to)
	}

	shown := slices.Concat([]string{"$ make demo", lines[0], ""}, lines[from:to], []string{"…", lines[0]})
	want, picture := draw(shown), filepath.Join("..", "..", "docs", "pictures", "demo.svg")

	if *update {
		if err := os.WriteFile(picture, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	got, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the picture is not that of the story, see the comment of this test (-want +got):\n%s", diff)
	}

	if err := xml.Unmarshal(got, new(struct{})); err != nil {
		t.Errorf("the picture is no XML: %v", err)
	}
}

func isStep(number string) func(line string) bool {
	return func(line string) bool { return strings.HasPrefix(line, "── "+number+" ·") }
}

// draw draws lines of a terminal, readable on a light and on a dark page.
func draw(lines []string) string {
	const column, row, margin = 8, 18, 16 // pixels

	var b strings.Builder

	width, height := pageWidth*column+2*margin, len(lines)*row+2*margin

	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="The output of make demo">
<style>
rect { fill: #f6f8fa; stroke: #d0d7de }
text { fill: #1f2328; font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre }
.step { font-weight: bold }
.good { fill: #1a7f37 }
@media (prefers-color-scheme: dark) {
rect { fill: #151b23; stroke: #3d444d }
text { fill: #f0f6fc }
.good { fill: #3fb950 }
}
</style>
<rect x="0.5" y="0.5" width="%d" height="%d" rx="6"/>
`, width, height, width-1, height-1)

	for i, line := range lines {
		class := ""

		switch {
		case strings.HasPrefix(line, "──"), strings.HasPrefix(line, "$"):
			class = ` class="step"`
		case strings.Contains(line, "✓"), strings.Contains(line, " effects for "):
			class = ` class="good"`
		}

		text := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(line)
		fmt.Fprintf(&b, `<text x="%d" y="%d"%s xml:space="preserve" textLength="%d" lengthAdjust="spacingAndGlyphs">%s</text>`+"\n",
			margin, margin+row*(i+1)-5, class, column*len([]rune(line)), text)
	}

	b.WriteString("</svg>\n")

	return b.String()
}
