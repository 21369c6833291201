package strictjson

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// walker compares the names in each object of valid JSON. It recurses at most as deep as json.Valid permits: 10,000 levels.
type walker struct {
	scanner

	exact []byte  // the text without the names that no field has; nil while there are none
	stack []place // the names of the objects around the place in the text, those of the innermost last
}

// value goes past a value of this shape. It returns an error if an object of it, at any depth, has a name twice or two names that
// differ only in case: encoding/json fills a field from a member whose name differs in case, and other readers understand a body
// with both spellings differently. The text of the error is a predicate, gives the bytes, counted from 1, and does not quote the
// names.
func (w *walker) value(s *Shape) error {
	w.space()

	switch w.text[w.at] {
	case '{':
		return w.object(s)
	case '[':
		return w.array(s)
	case '"':
		w.string()
	default:
		w.scalar()
	}

	return nil
}

func (w *walker) object(s *Shape) error {
	names := names{stack: &w.stack, begin: len(w.stack)}
	defer names.end()

	for w.next('}') {
		start := w.at

		name := unquoted(w.string())
		if err := names.add(name, w.at); err != nil {
			return err
		}

		member, isKnown := s.member(name)
		if !isKnown {
			w.hide(start+1, w.at-1)
		}

		w.space()
		w.at++ // the colon

		if err := w.value(member); err != nil {
			return err
		}
	}

	return nil
}

func (w *walker) array(s *Shape) error {
	for w.next(']') {
		if err := w.value(s.element()); err != nil {
			return err
		}
	}

	return nil
}

// hide writes commas over a name. No field has such a name, because a comma ends the name in a tag, and all places in the text
// stay.
func (w *walker) hide(start, end int) {
	if w.exact == nil {
		w.exact = []byte(w.text)
	}

	for i := start; i < end; i++ {
		w.exact[i] = ','
	}
}

// names are those of one object.
type names struct {
	stack  *[]place
	begin  int              // of its names in the stack
	folded map[string]place // by what fold makes of them; nil while there are few
}

// place is a name, and where it ends in the text.
type place struct {
	name string
	end  int
}

// few is how many names are compared one by one, which is faster than a map.
const few = 16

func (n *names) add(name string, end int) error {
	first, isThere := n.find(name)

	switch {
	case !isThere:
		n.keep(place{name, end})

		return nil
	case first.name == name:
		return fmt.Errorf("has one name twice in an object; the second one ends at byte %d", end)
	default:
		return fmt.Errorf("has two names in an object that differ only in case; they end at bytes %d and %d", first.end, end)
	}
}

func (n *names) find(name string) (first place, isThere bool) {
	if n.folded != nil {
		first, isThere = n.folded[fold(name)]

		return first, isThere
	}

	all := (*n.stack)[n.begin:]

	i := slices.IndexFunc(all, func(p place) bool { return strings.EqualFold(p.name, name) })
	if i < 0 {
		return place{}, false
	}

	return all[i], true
}

func (n *names) keep(p place) {
	if n.folded == nil {
		*n.stack = append(*n.stack, p)

		all := (*n.stack)[n.begin:]
		if len(all) <= few {
			return
		}

		n.folded = map[string]place{}
		for _, p := range all {
			n.folded[fold(p.name)] = p
		}
	}

	n.folded[fold(p.name)] = p
}

// end takes the names off the stack.
func (n *names) end() { *n.stack = (*n.stack)[:n.begin] }

// fold returns one name for all names that encoding/json takes for the same, as [strings.EqualFold] does: K, k and the Kelvin
// sign are one.
func fold(name string) string { return strings.Map(foldRune, name) }

// foldRune returns the smallest of the runes that differ only in case, but of ASCII letters the small one: most names have few
// others.
func foldRune(r rune) rune {
	if r >= utf8.RuneSelf {
		for next := unicode.SimpleFold(r); ; next = unicode.SimpleFold(r) {
			if next <= r {
				r = next

				break
			}

			r = next
		}
	}

	if 'A' <= r && r <= 'Z' {
		r += 'a' - 'A'
	}

	return r
}
