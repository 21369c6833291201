package histories

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/anishathalye/porcupine"
)

// patience is how long the history of a key may be judged. One that takes longer is not judged, which is no pass.
const patience = 30 * time.Second

// verdict is what became of a history.
type verdict struct {
	result  porcupine.CheckResult
	keys    int    // that were judged
	history string // the file of the first key's history that is not legal
	picture string // porcupine's picture of it
}

// judge judges the history of each key, up to the first one that is not legal. That one is kept in the folder, with porcupine's
// picture.
func (r rules) judge(history []porcupine.Operation, folder string) (v verdict, err error) {
	model := r.model()

	for _, part := range byKey(history) {
		result, info := porcupine.CheckOperationsVerbose(model, part, patience)
		v.keys++
		v.result = result

		if result == porcupine.Ok {
			continue
		}

		v.history, v.picture = filepath.Join(folder, "history.json"), filepath.Join(folder, "history.html")

		raw, err := json.MarshalIndent(part, "", " ")
		if err != nil {
			return v, fmt.Errorf("keep the history: %w", err)
		}

		if err := os.WriteFile(v.history, raw, 0o600); err != nil {
			return v, fmt.Errorf("keep the history: %w", err)
		}

		if err := porcupine.VisualizePath(model, info, v.picture); err != nil {
			return v, fmt.Errorf("draw the history: %w", err)
		}

		return v, nil
	}

	return v, nil
}
