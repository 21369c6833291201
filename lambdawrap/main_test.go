package lambdawrap_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// The heaps of the tests are small, so that without this a third of the package's time went into collecting them again and again.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
