package runtimeapi

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// PeakMemory is the largest resident size that the process has had since it was started, 0 where there is no /proc. What wait4
// says of a process is no less than the size of the one that started it.
func (p *Process) PeakMemory() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid()))
	if err != nil {
		return 0
	}

	_, rest, _ := strings.Cut(string(text), "VmHWM:")

	var kilobytes int64
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		return 0
	}

	return kilobytes << 10
}

// ticks is the unit of the times in /proc on Linux.
const ticks = 100

// ProcessorTime is what the process has used of the processor so far, 0 where there is no /proc: then the start of a process
// counts as its work.
func (p *Process) ProcessorTime() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid()))
	if err != nil {
		return 0
	}

	_, rest, _ := strings.Cut(string(text), ") ") // behind the name of the program

	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}

	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])

	return time.Duration(user+system) * time.Second / ticks
}
