package lambdawrap_test

import (
	"os"
	"testing"

	"github.com/idemddb/go-idemddb/internal/realengine"
)

func TestMain(m *testing.M) { os.Exit(realengine.Main(m)) }
