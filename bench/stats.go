package main

import (
	"math"
	"slices"
)

// median is the middle of the figures, or between the two in the middle; not a number if there is none.
func median(figures []float64) float64 {
	known := slices.DeleteFunc(slices.Clone(figures), math.IsNaN)
	if len(known) == 0 {
		return math.NaN()
	}

	slices.Sort(known)

	half := len(known) / 2
	if len(known)%2 == 1 {
		return known[half]
	}

	return (known[half-1] + known[half]) / 2
}

// ratio is the median of the ratios round by round: what disturbed a round disturbed both. It is not a number without a base.
func ratio(figures, base []float64) float64 {
	ratios := make([]float64, 0, len(figures))

	for i := range min(len(figures), len(base)) {
		if base[i] != 0 {
			ratios = append(ratios, figures[i]/base[i])
		}
	}

	return median(ratios)
}

// pick is one column of the samples.
func pick(samples []sample, figure func(sample) float64) []float64 {
	figures := make([]float64, len(samples))
	for i, s := range samples {
		figures[i] = figure(s)
	}

	return figures
}
