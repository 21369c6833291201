package main

import (
	"runtime"
	"time"
)

// usage is what this process has used so far.
type usage struct {
	at         time.Time
	wall       time.Duration // of a difference
	cpu        time.Duration
	allocs     uint64
	allocBytes uint64
}

func readUsage() (usage, error) {
	var m runtime.MemStats

	runtime.ReadMemStats(&m)

	cpu, err := processTime()

	return usage{at: time.Now(), cpu: cpu, allocs: m.Mallocs, allocBytes: m.TotalAlloc}, err
}

func (u usage) minus(before usage) usage {
	return usage{
		wall:       u.at.Sub(before.at),
		cpu:        u.cpu - before.cpu,
		allocs:     u.allocs - before.allocs,
		allocBytes: u.allocBytes - before.allocBytes,
	}
}
