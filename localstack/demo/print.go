package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

const (
	pageWidth  = 100
	labelWidth = 14
)

// colour is an ANSI code.
type colour string

const (
	bold   colour = "1"
	dim    colour = "2"
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	cyan   colour = "36"
)

// printer prints lines of at most pageWidth columns.
type printer struct {
	out      io.Writer
	coloured bool
}

// isTerminal is also false for a user who wants no colours (no-color.org).
func isTerminal(file *os.File) bool {
	info, err := file.Stat()

	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == ""
}

func (p *printer) paint(c colour, text string) string {
	if !p.coloured {
		return text
	}

	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

func (p *printer) line(text string) { fmt.Fprintln(p.out, strings.TrimRight(text, " ")) }

// heading prints a rule across the page.
func (p *printer) heading(left, right string) {
	rule := strings.Repeat("─", pageWidth-utf8.RuneCountInString("── "+left+"  "+right+" ──"))
	p.line("")
	p.line(p.paint(dim, "── ") + p.paint(bold, left) + p.paint(dim, " "+rule+" "+right+" ──"))
}

func (p *printer) paragraph(text string) {
	for _, line := range wrap(text, pageWidth) {
		p.line(line)
	}
}

// field prints lines behind a label.
func (p *printer) field(label string, lines ...string) {
	for _, line := range lines {
		p.line("  " + p.paint(dim, fmt.Sprintf("%-*s", labelWidth-2, label)) + line)
		label = ""
	}
}

// wrap breaks a text between words. A word that is longer than the width has a line of its own.
func wrap(text string, width int) []string {
	var (
		lines []string
		line  string
	)

	for word := range strings.FieldsSeq(text) {
		switch longer := line + " " + word; {
		case line == "":
			line = word
		case utf8.RuneCountInString(longer) <= width:
			line = longer
		default:
			lines, line = append(lines, line), word
		}
	}

	return append(lines, line)
}
