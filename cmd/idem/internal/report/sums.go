package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
)

// histogram counts durations in steps of a twentieth of a decade, so that a quantile is exact to 6 %.
type histogram struct {
	counts [steps]int
	total  int
	max    time.Duration
}

const (
	perDecade = 20
	decades   = 9 // from a millisecond to more than eleven days
	steps     = perDecade * decades
)

func (h *histogram) add(d time.Duration) {
	i := 0

	if ms := float64(d) / float64(time.Millisecond); ms > 1 {
		i = min(int(math.Log10(ms)*perDecade), steps-1)
	}

	h.counts[i]++
	h.total++
	h.max = max(h.max, d)
}

// quantile returns the end of the step that has the q-th part of the durations.
func (h *histogram) quantile(q float64) time.Duration {
	rest := int(math.Ceil(q * float64(h.total)))

	for i, n := range h.counts {
		if rest -= n; rest <= 0 {
			return min(stepEnd(i), h.max)
		}
	}

	return h.max
}

func stepEnd(i int) time.Duration {
	return time.Duration(math.Pow(10, float64(i+1)/perDecade) * float64(time.Millisecond))
}

// Row is a line of a list of keys.
type Row struct {
	Name     string // the key, or its hash
	Status   string
	Attempts int
	At       time.Time // since when; zero if the record does not say
	Text     string
}

// top keeps the rows that have waited longest.
type top struct {
	total int
	rows  []Row // the oldest first, at most mostRows
}

const mostRows = 25

func (t *top) add(r Row) {
	t.total++

	r.Text = clip(r.Text)
	r.Name = clip(r.Name)

	i, _ := slices.BinarySearchFunc(t.rows, r, func(a, b Row) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Name, b.Name))
	})
	if i == mostRows {
		return
	}

	t.rows = slices.Insert(t.rows, i, r)
	t.rows = t.rows[:min(len(t.rows), mostRows)]
}

// clip cuts a text that would not fit into a row.
func clip(text string) string {
	const most = 160

	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}

	return text
}

// counts counts texts. When there are too many, new ones are counted together.
type counts map[string]int

const (
	mostTexts = 500
	others    = "all others"
)

func (c counts) add(text string) {
	text = clip(text)
	if _, ok := c[text]; !ok && len(c) >= mostTexts {
		text = others
	}

	c[text]++
}

// Count is a text and how often it came.
type Count struct {
	Text string
	N    int
}

// first returns the texts that came most often; those behind the first n are added up.
func (c counts) first(n int) []Count {
	var (
		all  []Count
		rest = c[others]
	)

	for text, count := range c {
		if text != others {
			all = append(all, Count{text, count})
		}
	}

	slices.SortFunc(all, func(a, b Count) int { return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Text, b.Text)) })

	for _, count := range all[min(n, len(all)):] {
		rest += count.N
	}

	all = all[:min(n, len(all))]
	if rest > 0 {
		all = append(all, Count{others, rest})
	}

	return all
}

// pattern makes one text of those that differ only in words with digits, such as ids.
func pattern(text string) string {
	fields := strings.Fields(text)
	for i, field := range fields {
		if strings.ContainsFunc(field, unicode.IsDigit) {
			fields[i] = "#"
		}
	}

	return strings.Join(fields, " ")
}
