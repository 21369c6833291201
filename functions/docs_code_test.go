package functions_test

import (
	"go/build"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// The boxes and the arrows of the picture of docs/code.md.
var (
	pictureBox   = regexp.MustCompile(`(?m)^    (\w+)\["([a-z/]+): .*"\]$`)
	pictureArrow = regexp.MustCompile(`(?m)^    (\w+) --> (\w+)$`)
)

// The picture of the way of a message shows packages. Each arrow is an import, and no package imports one that has an arrow to
// it.
func TestThePictureOfTheCodeShowsItsImports(t *testing.T) {
	t.Parallel()

	page := readRoot(t, "docs/code.md")
	paths, imports := map[string]string{}, map[string][]string{}

	for _, box := range pictureBox.FindAllStringSubmatch(page, -1) {
		pkg, err := build.ImportDir(filepath.Join("..", box[2]), 0)
		if err != nil {
			t.Fatalf("%s: %v", box[2], err)
		}

		paths[box[1]], imports[box[1]] = "github.com/idemddb/go-idemddb/"+box[2], pkg.Imports
	}

	arrows := 0

	for _, arrow := range pictureArrow.FindAllStringSubmatch(page, -1) {
		from, to := arrow[1], arrow[2]
		if paths[to] == "" {
			continue // DynamoDB
		}

		if arrows++; !slices.Contains(imports[from], paths[to]) || slices.Contains(imports[to], paths[from]) {
			t.Errorf("%s --> %s is no import, or one the other way", from, to)
		}
	}

	if len(paths) != 7 || arrows < 8 {
		t.Errorf("read %d boxes and %d arrows of the picture", len(paths), arrows)
	}
}
