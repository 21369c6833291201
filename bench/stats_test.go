package main

import (
	"math"
	"testing"
)

func TestMedian(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		figures []float64
		want    float64
	}{
		"of none there is none":              {nil, math.NaN()},
		"the only one":                       {[]float64{3}, 3},
		"the middle one, whatever the order": {[]float64{9, 1, 2}, 2},
		"between the two in the middle":      {[]float64{4, 1, 2, 100}, 3},
		"what is not a number counts not":    {[]float64{math.NaN(), 5}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := median(c.figures); !same(got, c.want) {
				t.Errorf("median(%v) = %v, want %v", c.figures, got, c.want)
			}
		})
	}
}

func TestMedianLeavesItsArgumentAlone(t *testing.T) {
	t.Parallel()

	figures := []float64{3, 1, 2}
	median(figures)

	if figures[0] != 3 || figures[1] != 1 || figures[2] != 2 {
		t.Errorf("got %v", figures)
	}
}

func TestRatio(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		figures, base []float64
		want          float64
	}{
		"is taken round by round: a slow round is slow for both": {[]float64{1, 10, 2}, []float64{2, 20, 4}, 0.5},
		"is not the ratio of the medians":                        {[]float64{1, 2, 30}, []float64{10, 2, 3}, 1},
		"without a base there is none":                           {[]float64{1, 2}, nil, math.NaN()},
		"a base of zero has none":                                {[]float64{1, 2}, []float64{0, 4}, 0.5},
		"rounds without a partner do not count":                  {[]float64{1, 2, 3}, []float64{1}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := ratio(c.figures, c.base); !same(got, c.want) {
				t.Errorf("ratio(%v, %v) = %v, want %v", c.figures, c.base, got, c.want)
			}
		})
	}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
