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

// style is an ANSI colour.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// page prints lines of at most pageWidth columns, with colours or without.
type page struct {
	out      io.Writer
	coloured bool
}

// colours tells whether out is a terminal that wants them (no-color.org).
func colours(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}

	info, err := file.Stat()

	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *page) paint(s style, text string) string {
	if !p.coloured || s == plain {
		return text
	}

	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

func (p *page) line(text string) { fmt.Fprintln(p.out, strings.TrimRight(text, " ")) }

func (p *page) blank() { p.line("") }

// heading is a line across the page.
func (p *page) heading(left, right string) {
	rule := pageWidth - utf8.RuneCountInString("── "+left+"  "+right+" ──")
	p.blank()
	p.line(p.paint(dim, "──") + " " + p.paint(bold, left) + " " + p.paint(dim, strings.Repeat("─", rule)+" "+right+" ──"))
}

// say prints a paragraph.
func (p *page) say(s style, text string) {
	for _, line := range wrap(text, pageWidth) {
		p.line(p.paint(s, line))
	}
}

// field prints a labelled value of lines that are painted already.
func (p *page) field(label string, lines ...string) {
	for i, line := range lines {
		if i > 0 {
			label = ""
		}

		p.line("  " + p.paint(dim, fmt.Sprintf("%-*s", labelWidth-2, label)) + line)
	}
}

// prose is a field of words.
func (p *page) prose(label string, s style, text string) {
	lines := wrap(text, pageWidth-labelWidth)
	for i := range lines {
		lines[i] = p.paint(s, lines[i])
	}

	p.field(label, lines...)
}

// wrap breaks a text between words. A word longer than the width is broken, too.
func wrap(text string, width int) []string {
	var lines []string

	line, used := "", 0

	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		if used > 0 && used+1+n > width {
			lines, line, used = append(lines, line), "", 0
		}

		for n > width {
			head := string([]rune(word)[:width])
			lines, word, n = append(lines, head), word[len(head):], n-width
		}

		if used > 0 {
			line, used = line+" ", used+1
		}

		line, used = line+word, used+n
	}

	return append(lines, line)
}
