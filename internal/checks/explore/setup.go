package main

import (
	"fmt"
	"slices"
	"strings"
)

// setup is what happens in a part of the exploration, in whichever order.
type setup struct {
	keys   string // the key of each writer, one letter each
	faults int    // how many requests are lost, throttled or denied, or lose their answers, at most
	leaves int    // how many callers leave, at most
	sleeps int    // how often the planner's timer is late, at most

	items string // commits instead: the item that each writer's effect changes, one letter each

	isAdded   bool // these effects are additions, which travel together
	isGroup   bool // the writers are an invocation, which announces them
	isMet     bool // a record was met whose key had ended
	isDenied  bool // shared requests were denied five minutes ago
	isClaimed bool // the writers only claim their keys
}

// setups are the parts of the whole exploration. Their numbers are as large as less than a minute allows.
var setups = []setup{
	{keys: "aaa", faults: 2, leaves: 1},
	{keys: "aab", faults: 1, leaves: 1},
	{keys: "ab", faults: 3, leaves: 1},
	{keys: "aab", faults: 1, isGroup: true},
	{keys: "aa", faults: 3, leaves: 1},
	{keys: "abc", faults: 1},
	{keys: "abcde", faults: 1, isClaimed: true},
	{keys: "abcde", faults: 1, isDenied: true, isClaimed: true},
	{keys: "ab", faults: 2, leaves: 1, isGroup: true},
	{keys: "aa", faults: 2, leaves: 1, isGroup: true},
	{keys: "a", faults: 5, leaves: 1},
	{keys: "ab", faults: 2, sleeps: 2},
	{keys: "ab", faults: 1, sleeps: 1, isGroup: true},
	{keys: "ab", items: "xx", faults: 3, leaves: 1},
	{keys: "ab", items: "xy", faults: 3, leaves: 1},
	{keys: "ab", items: "xx", faults: 1, sleeps: 1},
	{keys: "aa", items: "xx", faults: 2, leaves: 1},
	{keys: "abc", items: "xxy", faults: 2},
	{keys: "abc", items: "xyz", faults: 2},
	{keys: "ab", items: "xx", isAdded: true, faults: 3, leaves: 1},
	{keys: "aa", items: "xx", isAdded: true, faults: 2, leaves: 1},
	{keys: "abc", items: "xxx", isAdded: true, faults: 1, leaves: 1},
	{keys: "aab", items: "xxx", isAdded: true, faults: 2},
	{keys: "abc", items: "xxy", isAdded: true, faults: 2},
	{keys: "aab", items: "xxx", isAdded: true, isMet: true, faults: 1, leaves: 1},
	{keys: "ab", items: "xy", isMet: true, faults: 2, leaves: 1},
	{keys: "aabb", items: "xxxx", isAdded: true, isMet: true},
}

// shortSetups visit each kind of event, in seconds.
var shortSetups = []setup{
	{keys: "a", faults: 3, leaves: 1},
	{keys: "aa", faults: 1, leaves: 1},
	{keys: "ab", faults: 1, leaves: 1},
	{keys: "aab", leaves: 1},
	{keys: "ab", faults: 1, sleeps: 1},
	{keys: "ab", faults: 1, isGroup: true},
	{keys: "abcd", faults: 1, isClaimed: true},
	{keys: "abcde", isDenied: true, isClaimed: true},
	{keys: "ab", items: "xx", faults: 1, leaves: 1},
	{keys: "abc", items: "xyz", faults: 1},
	{keys: "abc", items: "xxx", isAdded: true, faults: 1},
	{keys: "ab", items: "xx", isAdded: true, faults: 1, leaves: 1},
	{keys: "aab", items: "xxx", isAdded: true, isMet: true, faults: 1},
}

func (s setup) String() string {
	letters := slices.Compact(slices.Sorted(slices.Values(strings.Split(s.keys, ""))))

	var b strings.Builder

	fmt.Fprintf(&b, "%s of %s", count(len(s.keys), "writer"), count(len(letters), "key"))

	if len(letters) > 1 && len(letters) < len(s.keys) {
		fmt.Fprintf(&b, " (%s)", s.keys)
	}

	switch {
	case s.isAdded:
		fmt.Fprintf(&b, ", who commit them with additions to the items %s", s.items)
	case s.items != "":
		fmt.Fprintf(&b, ", who commit them with effects on the items %s", s.items)
	}

	if s.isGroup {
		b.WriteString(", announced by their invocation")
	}

	if s.isMet {
		b.WriteString(", after a duplicate")
	}

	if s.isDenied {
		b.WriteString(", five minutes after a denial")
	}

	if s.isClaimed {
		b.WriteString(", claims only")
	}

	fmt.Fprintf(&b, ", at most %s", count(s.faults, "fault"))

	if s.leaves > 0 {
		fmt.Fprintf(&b, " and %s", count(s.leaves, "caller that leaves", "callers that leave"))
	}

	if s.sleeps > 0 {
		fmt.Fprintf(&b, ", and the timer is late at most %s", count(s.sleeps, "time"))
	}

	return b.String()
}

// count returns a number with its noun. The plural has an s if none is given.
func count(n int, noun string, plural ...string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case len(plural) > 0:
		return fmt.Sprintf("%d %s", n, plural[0])
	default:
		return fmt.Sprintf("%d %ss", n, noun)
	}
}
