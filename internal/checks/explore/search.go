package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// result is what a search visited.
type result struct {
	states, ends, transitions int

	isCutOff  bool   // there was more
	violation string // "" for none
	story     string // the events that led there
}

var errCutOff = errors.New("not exhausted: a part was cut off")

func (r result) String() string {
	text := fmt.Sprintf("%d states, %d end states, %d transitions", r.states, r.ends, r.transitions)
	if r.isCutOff {
		text += ", cut off"
	}

	return text
}

func parallel() int { return runtime.GOMAXPROCS(0) }

// node is a state that was found, by the event that led to it from another one.
type node struct {
	event

	from int32
}

// search visits all states of a part, those with the fewest events first, so that the first story that breaks a property is a
// shortest one. A state is made anew by its events, because a planner cannot be copied.
func search(s setup, without rule, most int) (r result) {
	var (
		table   = newTable(s)
		nodes   = []node{{from: -1}}
		visited = map[[16]byte]bool{}
	)

	for at := 0; at < len(nodes); at++ {
		path := pathTo(nodes, at)
		w := table.replay(without, path)
		events := w.events()

		if len(events) == 0 {
			r.ends++
			w.checkEnd()
		}

		for i, e := range events {
			if i > 0 {
				w = table.replay(without, path)
			}

			w.happen(e)
			w.check()

			r.transitions++

			if w.violation != "" {
				return found(r, w, table.tell(without, append(path, e)))
			}

			if key := [16]byte(sum(w.state())); !visited[key] {
				visited[key] = true
				nodes = append(nodes, node{e, int32(at)})
			}
		}

		if w.violation != "" {
			return found(r, w, table.tell(without, path))
		}

		if len(nodes) > most {
			r.isCutOff = true

			break
		}
	}

	r.states = len(nodes)

	return r
}

func found(r result, w *world, story string) result {
	r.violation, r.story = w.violation, story

	return r
}

func sum(state string) []byte {
	hash := sha256.Sum256([]byte(state))

	return hash[:16]
}

func pathTo(nodes []node, at int) []event {
	var path []event
	for ; nodes[at].from >= 0; at = int(nodes[at].from) {
		path = append(path, nodes[at].event)
	}

	for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
		path[i], path[j] = path[j], path[i]
	}

	return append(make([]event, 0, len(path)+1), path...)
}

// replay makes the state that these events lead to.
func (t *table) replay(without rule, path []event) *world {
	w := t.newWorld(without)
	for _, e := range path {
		w.happen(e)
	}

	return w
}

// tell tells a story in words.
func (t *table) tell(without rule, path []event) string {
	w := t.newWorld(without)
	w.isTold = true

	for _, e := range path {
		w.happen(e)
	}

	var b strings.Builder
	for i, line := range w.told {
		fmt.Fprintf(&b, "%3d. %s\n", i+1, line)
	}

	return b.String()
}
