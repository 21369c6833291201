package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/idemddb/go-idemddb/idemddb"
)

// directory keeps results in files, such as on a file system that all workers share.
type directory struct{ path string }

func (d directory) Put(_ context.Context, name string, b []byte) error {
	path := filepath.Join(d.path, filepath.FromSlash(name))

	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b, 0o600))
}

func (d directory) Get(_ context.Context, name string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(d.path, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", idemddb.ErrResultOmitted, err) // the file is gone, and not only unreadable for now
	}

	return b, err
}

// Results can be kept anywhere. Those of at most 32 KB stay in the record. Package results keeps them in S3.
func ExampleResults() {
	path, err := os.MkdirTemp("", "results")
	if err != nil {
		fmt.Println(err)
	}
	defer os.RemoveAll(path)

	ctx := context.Background()
	store, _ := inMemory(&idemddb.Options{Results: directory{path}})
	build := func(context.Context) (string, error) { return strings.Repeat("a line of the report\n", 2_000), nil }

	for range 2 {
		report, err := idemddb.Do(ctx, store, "r-1", nil, build)
		fmt.Println(len(report), err)
	}

	os.RemoveAll(path) // a lifecycle rule that is shorter than Options.Retention does this

	_, err = idemddb.Do(ctx, store, "r-1", &idemddb.ClaimOptions{NeedResult: true}, build)
	fmt.Println(errors.Is(err, idemddb.ErrResultOmitted))
	// Output:
	// 42000 <nil>
	// 42000 <nil>
	// true
}
