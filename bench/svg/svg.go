// Package svg draws the pictures of the pages: texts and bars, for light and dark pages.
package svg

import (
	"fmt"
	"strings"
)

// Fill is a class of bars with its colors.
type Fill struct{ Class, Light, Dark string }

// Width is that of each picture.
const Width = 860

// Picture is an SVG that is being drawn. The texts must not hold what XML escapes.
type Picture struct {
	b      strings.Builder
	height int
}

// Open begins a picture. label is for those who do not see it.
func Open(height int, label string, fills ...Fill) *Picture {
	p := &Picture{height: height}
	light, dark := style(fills, func(f Fill) string { return f.Light }), style(fills, func(f Fill) string { return f.Dark })

	fmt.Fprintf(&p.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .small { font-size: 11px; fill: #59636e; }
  .page { fill: #ffffff; }
%s  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .small { fill: #9198a1; }
    .page { fill: #0d1117; }
%s  }
</style>
<rect class="page" width="%d" height="%d"/>
`, Width, height, label, light, strings.ReplaceAll(dark, "  .", "    ."), Width, height)

	return p
}

func style(fills []Fill, color func(Fill) string) string {
	var lines strings.Builder
	for _, f := range fills {
		fmt.Fprintf(&lines, "  .%s { fill: %s; }\n", f.Class, color(f))
	}

	return lines.String()
}

// Text writes a text that begins at x.
func (p *Picture) Text(x, y int, text string) {
	fmt.Fprintf(&p.b, "<text x=\"%d\" y=\"%d\">%s</text>\n", x, y, text)
}

// Before writes a text that ends at x.
func (p *Picture) Before(x, y int, text string) {
	fmt.Fprintf(&p.b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", x, y, text)
}

// Small writes a small text that begins at x.
func (p *Picture) Small(x float64, y int, text string) {
	fmt.Fprintf(&p.b, "<text class=\"small\" x=\"%s\" y=\"%d\">%s</text>\n", short(x), y, text)
}

// Bar draws a bar.
func (p *Picture) Bar(class string, x float64, y int, width float64, height int) {
	fmt.Fprintf(&p.b, "<rect class=\"%s\" x=\"%s\" y=\"%d\" width=\"%s\" height=\"%d\"/>\n", class, short(x), y, short(width), height)
}

// Legend says what the bars of a class are.
func (p *Picture) Legend(class string, x, y int, text string) {
	const side = 10

	p.Bar(class, float64(x), y, side, side)
	p.Small(float64(x+side+4), y+side-1, text)
}

// Close ends the picture with a small text at its foot, and returns it.
func (p *Picture) Close(foot string) string {
	p.Small(20, p.height-13, foot)

	return p.b.String() + "</svg>\n"
}

// short writes a number with at most one decimal.
func short(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") }
