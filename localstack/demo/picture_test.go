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

// TestPictureOfTheStory compares docs/pictures/demo.svg with testdata/story.txt: the picture shows its result and its first two
// steps. After a change of the story, draw the picture anew:
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
	compare(t, "demo.svg", draw("The output of make demo", shown))
}

// TestPictureOfAnOperatorsSession compares docs/pictures/idem.svg with the first screen of docs/operations.md. The drills of
// cmd/idem demand that the command shows exactly that.
//
//	go test ./localstack/demo -run 'Session$' -update
func TestPictureOfAnOperatorsSession(t *testing.T) {
	t.Parallel()

	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}

	_, screen, found := strings.Cut(string(page), "\n    $ idem list stuck\n")
	if screen, _, _ = strings.Cut(screen, "\n\n"); !found || !strings.Contains(screen, "\n    $ idem release p-9 ") {
		t.Fatal("docs/operations.md does not begin with a key that is stuck")
	}

	shown := []string{"$ idem list stuck"}
	for line := range strings.SplitSeq(screen, "\n") {
		shown = append(shown, folded(strings.TrimPrefix(line, "    "))...)
	}

	compare(t, "idem.svg", draw("A session of idem: a key that is stuck is found, shown and released", shown))
}

// folded breaks a line that is too long for the picture between two words. What follows begins below its first word.
func folded(line string) []string {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)

	if len([]rune(line)) <= pageWidth {
		return []string{line}
	}

	lines := wrap(text, pageWidth-indent)
	for i := range lines {
		lines[i] = strings.Repeat(" ", indent) + lines[i]
	}

	return lines
}

// compare compares a picture of docs/pictures with what it must be.
func compare(t *testing.T, name, want string) {
	t.Helper()

	picture := filepath.Join("..", "..", "docs", "pictures", name)

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
		t.Errorf("%s is not what is shown, see the comment of this test (-want +got):\n%s", name, diff)
	}

	if err := xml.Unmarshal(got, new(struct{})); err != nil {
		t.Errorf("%s is no XML: %v", name, err)
	}
}

func isStep(number string) func(line string) bool {
	return func(line string) bool { return strings.HasPrefix(line, "── "+number+" ·") }
}

// draw draws lines of a terminal, readable on a light and on a dark page.
func draw(label string, lines []string) string {
	const column, row, margin = 8, 18, 16 // pixels

	var b strings.Builder

	width, height := pageWidth*column+2*margin, len(lines)*row+2*margin

	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">
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
`, width, height, label, width-1, height-1)

	for i, line := range lines {
		class := ""

		switch {
		case strings.HasPrefix(line, "──"), strings.HasPrefix(line, "$"):
			class = ` class="step"`
		case strings.Contains(line, "✓"), strings.Contains(line, ": released:"), strings.Contains(line, " effects for "):
			class = ` class="good"`
		}

		text := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(line)
		fmt.Fprintf(&b, `<text x="%d" y="%d"%s xml:space="preserve" textLength="%d" lengthAdjust="spacingAndGlyphs">%s</text>`+"\n",
			margin, margin+row*(i+1)-5, class, column*len([]rune(line)), text)
	}

	b.WriteString("</svg>\n")

	return b.String()
}
