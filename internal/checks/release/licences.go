package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// allowed are the licences that whoever builds a closed program with the library can keep, by a notice alone.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "MIT", "ISC"}

// material is what this program reads of a bill of materials in CycloneDX.
type material struct {
	Metadata struct {
		Component component `json:"component"`
	} `json:"metadata"`
	Components []component `json:"components"`
}

type component struct {
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	Licenses []choice `json:"licenses"`
	Evidence struct {
		Licenses []choice `json:"licenses"`
	} `json:"evidence"`
}

type choice struct {
	Expression string `json:"expression"`
	License    struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"license"`
}

func checkLicences(out io.Writer, files []string) error {
	var problems []string

	for _, file := range files {
		content, err := os.ReadFile(file) //nolint:gosec // it is what the caller wants to have judged
		if err != nil {
			return err //nolint:wrapcheck // names the file
		}

		var bill material
		if err := json.Unmarshal(content, &bill); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}

		counts, found := bill.judge()
		for _, problem := range found {
			problems = append(problems, file+": "+problem)
		}

		fmt.Fprintf(out, "%s: %s %s needs %d modules:", file, bill.Metadata.Component.Name, bill.Metadata.Component.Version, len(bill.Components))

		for _, id := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(out, " %d of %s", counts[id], id)
		}

		fmt.Fprintln(out)
	}

	return told("the licences are not all on the list", problems)
}

// judge counts the licences, and names the modules that have none which is on the list, or one besides that is not.
func (m material) judge() (counts map[string]int, problems []string) {
	counts = map[string]int{}

	if len(m.Components) == 0 {
		return counts, []string{"it lists no modules"}
	}

	for _, c := range m.Components {
		ids := c.licences()
		counts[strings.Join(ids, " and ")]++

		if len(ids) == 0 || slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(allowed, id) }) {
			problems = append(problems, fmt.Sprintf("%s %s has the licences %q", c.Name, c.Version, ids))
		}
	}

	return counts, problems
}

func (c component) licences() []string {
	var ids []string

	for _, l := range slices.Concat(c.Licenses, c.Evidence.Licenses) {
		id := l.Expression + l.License.ID + l.License.Name
		if id == "BSD-Source-Code" && strings.HasPrefix(c.Name, "golang.org/x/") {
			id = "BSD-3-Clause" // what the file of the Go project says; the tool takes it for its neighbour
		}

		ids = append(ids, id)
	}

	slices.Sort(ids)

	return slices.Compact(ids)
}
