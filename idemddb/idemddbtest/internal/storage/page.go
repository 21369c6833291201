package storage

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// maxPage is the size at which a Query or a Scan stops to read. What the filter leaves out counts, too.
const maxPage = 1 << 20

// Page is what one Query or Scan reads of its source.
type Page struct {
	Source     Source
	match      func(attribute.Item) bool // the key condition, or the segment
	filter     func(attribute.Item) bool // nil: everything that was read is returned
	backward   bool
	limit      *int32
	start      attribute.Item
	selects    types.Select
	consistent *bool
}

// Reading is what a page has found.
type Reading struct {
	Items   []attribute.Item // nil if they are only counted
	Count   int32
	Scanned int32
	Last    attribute.Item // the position at which the next page begins; nil at the end
	Cost    Consumption
	first   attribute.Item // the first entry; nil if there is none
}

// Read reads the page. As in DynamoDB Local a page that has reached its limit has a LastEvaluatedKey, even if nothing follows.
func (p *Page) Read() Reading {
	out := Reading{Items: []attribute.Item{}}
	size := 0

	for _, entry := range p.entries() {
		if size += attribute.ItemSize(entry); out.first == nil {
			out.first = entry
		}

		out.Scanned++

		if p.filter == nil || p.filter(entry) {
			out.Count++
			out.Items = append(out.Items, attribute.CopyItem(entry))
		}

		if p.limit != nil && out.Scanned == *p.limit || size >= maxPage {
			out.Last = p.position(entry)

			break
		}
	}

	if p.selects == types.SelectCount {
		out.Items = nil
	}

	out.Cost = p.cost(size)

	return out
}

// check refuses what the page cannot have of its source.
func (p *Page) check() error {
	ix := p.Source.index

	switch {
	case p.limit != nil && *p.limit < 1:
		return exception.Validation("Limit must be greater than or equal to 1")
	case p.selects == types.SelectAllAttributes && ix != nil && !ix.all:
		return exception.Validation(
			"One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL",
			ix.name,
		)
	case p.selects == types.SelectAllProjectedAttributes && ix == nil:
		return exception.Validation("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
	case !slices.Contains([]types.Select{"", types.SelectAllAttributes, types.SelectAllProjectedAttributes, types.SelectCount}, p.selects):
		return exception.Validation("idemddbtest: Select %q is not supported", p.selects)
	}

	return nil
}

// entries returns the entries behind the start, in the order in which the page reads them.
func (p *Page) entries() []attribute.Item {
	all := p.Source.entries(p.match)
	if p.backward {
		slices.Reverse(all)
	}

	if p.start == nil {
		return all
	}

	return slices.DeleteFunc(all, func(entry attribute.Item) bool {
		order := p.Source.position().compare(entry, p.start)

		return order == 0 || (order < 0) != p.backward
	})
}

func (p *Page) position(entry attribute.Item) attribute.Item {
	position := attribute.Item{}
	for _, k := range p.Source.position() {
		position[k.name] = attribute.CopyValue(entry[k.name])
	}

	return position
}

// cost returns the price of reading this much. It is rounded up once, not for each entry.
func (p *Page) cost(size int) Consumption {
	n := readUnits(size, p.consistent)
	if p.Source.index == nil {
		return Consumption{table: n}
	}

	return Consumption{indexes: map[string]float64{p.Source.index.name: n}}
}
