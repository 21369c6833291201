package idemddbtest

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
)

// maxPage is the size at which a Query or a Scan stops to read. What the filter leaves out counts, too.
const maxPage = 1 << 20

// page is what one Query or Scan reads of its source.
type page struct {
	source     source
	match      func(attribute.Item) bool // the key condition, or the segment
	filter     func(attribute.Item) bool // nil: everything that was read is returned
	backward   bool
	limit      *int32
	start      attribute.Item
	selects    types.Select
	consistent *bool
}

// reading is what a page has found.
type reading struct {
	items   []attribute.Item // nil if they are only counted
	count   int32
	scanned int32
	last    attribute.Item // the position at which the next page begins; nil at the end
	cost    consumption
	first   attribute.Item // the first entry; nil if there is none
}

// charge takes the units of a page.
func (s source) charge(found *reading) error {
	if found.first == nil {
		return nil
	}

	index := ""
	if s.index != nil {
		index = s.index.name
	}

	return s.table.chargeRead(index, found.first[s.key()[0].name], found.cost.total())
}

func (p *page) check() error {
	ix := p.source.index

	switch {
	case p.limit != nil && *p.limit < 1:
		return exception.Validation("Limit must be greater than or equal to 1")
	case p.selects == types.SelectAllAttributes && ix != nil && !ix.all:
		return exception.Validation("One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL", ix.name)
	case p.selects == types.SelectAllProjectedAttributes && ix == nil:
		return exception.Validation("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
	case !slices.Contains([]types.Select{"", types.SelectAllAttributes, types.SelectAllProjectedAttributes, types.SelectCount}, p.selects):
		return exception.Validation("idemddbtest: Select %q is not supported", p.selects)
	}

	return nil
}

// read reads the page. As in DynamoDB Local a page that has reached its limit has a LastEvaluatedKey, even if nothing follows.
func (p *page) read() reading {
	out := reading{items: []attribute.Item{}}
	size := 0

	for _, entry := range p.entries() {
		if size += attribute.ItemSize(entry); out.first == nil {
			out.first = entry
		}

		out.scanned++

		if p.filter == nil || p.filter(entry) {
			out.count++
			out.items = append(out.items, attribute.CopyItem(entry))
		}

		if p.limit != nil && out.scanned == *p.limit || size >= maxPage {
			out.last = p.position(entry)

			break
		}
	}

	if p.selects == types.SelectCount {
		out.items = nil
	}

	out.cost = p.cost(size)

	return out
}

// entries returns the entries behind the start, in the order in which the page reads them.
func (p *page) entries() []attribute.Item {
	all := p.source.entries(p.match)
	if p.backward {
		slices.Reverse(all)
	}

	if p.start == nil {
		return all
	}

	return slices.DeleteFunc(all, func(entry attribute.Item) bool {
		order := p.source.compare(entry, p.start)

		return order == 0 || (order < 0) != p.backward
	})
}

func (p *page) position(entry attribute.Item) attribute.Item {
	position := attribute.Item{}
	for _, k := range p.source.position() {
		position[k.name] = attribute.CopyValue(entry[k.name])
	}

	return position
}

// cost returns the price of reading this much. It is rounded up once, not for each entry.
func (p *page) cost(size int) consumption {
	n := readUnits(size, p.consistent)
	if p.source.index == nil {
		return consumption{table: n}
	}

	return consumption{indexes: map[string]float64{p.source.index.name: n}}
}
