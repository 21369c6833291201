// Package svg draws the pictures of the pages: texts, bars and curves, for light and dark pages.
package svg

import (
	"fmt"
	"strings"
)

// Color is a class of bars or curves with its colors.
type Color struct{ Class, Light, Dark string }

// Width is that of each picture.
const Width = 860

// Picture is an SVG that is being drawn. The texts must not hold what XML escapes.
type Picture struct {
	b      strings.Builder
	height int
}

// Open begins a picture. label is for those who do not see it.
func Open(height int, label string, colors ...Color) *Picture {
	p := &Picture{height: height}
	light, dark := style(colors, func(c Color) string { return c.Light }), style(colors, func(c Color) string { return c.Dark })

	fmt.Fprintf(&p.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .small { font-size: 11px; fill: #59636e; }
  rect { fill: currentColor; }
  polyline { fill: none; stroke: currentColor; stroke-width: 2; }
  .dashed { stroke-dasharray: 5 4; }
  line { stroke: #d1d9e0; }
  .page { fill: #ffffff; }
%s  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .small { fill: #9198a1; }
    line { stroke: #3d444d; }
    .page { fill: #0d1117; }
%s  }
</style>
<rect class="page" width="%d" height="%d"/>
`, Width, height, label, light, strings.ReplaceAll(dark, "  .", "    ."), Width, height)

	return p
}

func style(colors []Color, of func(Color) string) string {
	var lines strings.Builder
	for _, c := range colors {
		fmt.Fprintf(&lines, "  .%s { color: %s; }\n", c.Class, of(c))
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

// Under writes a text whose middle is at x.
func (p *Picture) Under(x, y int, text string) {
	fmt.Fprintf(&p.b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x, y, text)
}

// Small writes a small text that begins at x.
func (p *Picture) Small(x float64, y int, text string) {
	fmt.Fprintf(&p.b, "<text class=\"small\" x=\"%s\" y=\"%d\">%s</text>\n", short(x), y, text)
}

// Bar draws a bar.
func (p *Picture) Bar(class string, x float64, y int, width float64, height int) {
	fmt.Fprintf(&p.b, "<rect class=\"%s\" x=\"%s\" y=\"%d\" width=\"%s\" height=\"%d\"/>\n", class, short(x), y, short(width), height)
}

// Level draws a level line, with a text that ends before it.
func (p *Picture) Level(left, right, y int, text string) {
	fmt.Fprintf(&p.b, "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", left, right, y, y)
	p.Before(left-8, y+4, text)
}

// Point is a place in a picture.
type Point struct{ X, Y float64 }

// Curve draws a line from point to point.
func (p *Picture) Curve(class string, points []Point) {
	var list strings.Builder
	for _, at := range points {
		fmt.Fprintf(&list, "%s,%s ", short(at.X), short(at.Y))
	}

	fmt.Fprintf(&p.b, "<polyline class=\"%s\" points=\"%s\"/>\n", class, strings.TrimSpace(list.String()))
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
