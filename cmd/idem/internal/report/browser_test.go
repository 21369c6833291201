//go:build browser

package report_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/cmd/idem/internal/report"
	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// chromium runs the browser without a window, as it is on Debian. It has no sandbox, because a container lets root have none; the
// page has no scripts. REPORT_SHOTS names a folder where the pictures are kept for a person.
func chromium(t *testing.T, url string, flags ...string) string {
	t.Helper()

	var out, log bytes.Buffer

	args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--enable-logging=stderr", "--user-data-dir=" + t.TempDir()}, flags...)
	cmd := exec.CommandContext(t.Context(), "chromium", append(args, url)...)
	cmd.Stdout, cmd.Stderr = &out, &log

	if err := cmd.Run(); err != nil {
		t.Fatalf("chromium %v: %v\n%s", flags, err, log.String())
	}

	// What the page's policy refuses, and what is wrong in it, the browser tells its console.
	if strings.Contains(log.String(), "CONSOLE") {
		t.Errorf("chromium %v:\n%s", flags, log.String())
	}

	return out.String()
}

// busy is a report of a week with a night of trouble.
func busy(t *testing.T) string {
	t.Helper()

	totals := report.NewTotals(now, false)

	for i := range 20_000 {
		took := time.Duration(40+i%400) * time.Millisecond
		if i%50 == 0 {
			took *= 30
		}

		done := now.Add(-time.Duration(i*i%604_000) * time.Second)
		v := operate.View{
			Key: fmt.Sprintf("p-%d", i), Hash: fmt.Sprintf("sha256:%012x", i*7919), Status: operate.Completed, State: "COMPLETED",
			Attempts: 1, Born: done.Add(-took), Done: done, ResultBytes: i % 900,
		}

		switch {
		case i%400 == 0:
			v.Status, v.State, v.Done, v.Cause = operate.Failed, "FAILED", time.Time{}, fmt.Sprintf("account %d is closed", i)
		case i%401 == 0:
			v.Attempts, v.SecondRun = 2, &operate.SecondRun{Why: []operate.Reason{operate.TakenOver}, LeaseEnded: now.Add(-30 * time.Hour)}
		case i%402 == 0:
			v.Messages = []operate.Message{{To: "receipts"}}
		case i%1500 == 7:
			v.Messages = []operate.Message{{To: "audit", Parked: true, Cause: "AccessDenied: no identity-based policy allows sqs:SendMessage"}}
		case i%1000 == 3:
			v.Status, v.State, v.Done, v.Lease = operate.Stuck, "INPROGRESS", time.Time{}, now.Add(-3*time.Minute)
		case i%90 == 1:
			v.Attempts, v.SecondRun = 3, &operate.SecondRun{Why: []operate.Reason{operate.WasRetried}}
		}

		totals.Add(&v)
	}

	consumed := &report.Consumed{Begin: now.Add(-168 * time.Hour), Resolution: time.Hour, Throttled: 12}
	for i := range 168 {
		consumed.Writes = append(consumed.Writes, float64(200+i*37%113))
		consumed.Reads = append(consumed.Reads, float64(i%24))
	}

	source, _ := page(t, totals, report.Reading{
		Table: "records", Namespace: "payments", Read: 20_000, Units: 1200, About: 21_345, Consumed: consumed,
		Stream: &report.Stream{Kinds: map[string]int{"new claim": 2901, "completion": 2893, "takeover": 7}, Judged: 5801, Late: 2, From: now.Add(-24 * time.Hour), To: now},
	})

	name := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(name, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}

	return "file://" + name
}

// shot takes a picture of the page.
func shot(t *testing.T, url, name string, flags ...string) image.Image {
	t.Helper()

	folder := os.Getenv("REPORT_SHOTS")
	if folder == "" {
		folder = t.TempDir()
	}

	file := filepath.Join(folder, name+".png")
	chromium(t, url, append(flags, "--screenshot="+file)...)

	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	picture, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}

	return picture
}

// colours returns how many pixels have each colour.
func colours(picture image.Image) map[color.RGBA]int {
	all := map[color.RGBA]int{}

	for y := picture.Bounds().Min.Y; y < picture.Bounds().Max.Y; y++ {
		for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x++ {
			r, g, b, _ := picture.At(x, y).RGBA()
			all[color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}]++
		}
	}

	return all
}

// The page is drawn in the colours of the reader's scheme: its background, its text and its plots.
func TestBrowserDrawsThePage(t *testing.T) {
	t.Parallel()

	url := busy(t)

	for name, test := range map[string]struct {
		flag             string
		back, text, plot color.RGBA
	}{
		"light": {"--blink-settings=preferredColorScheme=1", color.RGBA{0xff, 0xff, 0xff, 255}, color.RGBA{0x1c, 0x23, 0x30, 255}, color.RGBA{0x2f, 0x6f, 0xb3, 255}},
		"dark":  {"--blink-settings=preferredColorScheme=0", color.RGBA{0x14, 0x18, 0x1f, 255}, color.RGBA{0xe6, 0xe9, 0xef, 255}, color.RGBA{0x6f, 0xa8, 0xe8, 255}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			picture := shot(t, url, name, test.flag, "--window-size=1100,4600")
			got := colours(picture)
			pixels := picture.Bounds().Dx() * picture.Bounds().Dy()

			if got[test.back] < pixels/2 || got[test.text] < 500 || got[test.plot] < 5000 {
				t.Errorf("of %d pixels %d are of the background, %d of the text, %d of the plots", pixels, got[test.back], got[test.text], got[test.plot])
			}
		})
	}

	shot(t, url, "narrow", "--window-size=500,2400", "--blink-settings=preferredColorScheme=1")
}

// The browser reads the page as it is meant, and prints it on a few sheets.
func TestBrowserReadsAndPrintsThePage(t *testing.T) {
	t.Parallel()

	url := busy(t)
	dom := chromium(t, url, "--dump-dom")

	for what, want := range map[string]int{"<svg": 8, "<section": 12, `class="tile`: 8, "<script": 0} {
		if what == `class="tile` { // and the grid around them
			want++
		}

		if got := strings.Count(dom, what); got != want {
			t.Errorf("the browser has %d times %q, want %d", got, what, want)
		}
	}

	folder := os.Getenv("REPORT_SHOTS")
	if folder == "" {
		folder = t.TempDir()
	}

	file := filepath.Join(folder, "report.pdf")
	chromium(t, url, "--print-to-pdf="+file, "--no-pdf-header-footer", "--blink-settings=preferredColorScheme=0")

	pdf, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	if sheets := bytes.Count(pdf, []byte("/Type /Page\n")); !bytes.HasPrefix(pdf, []byte("%PDF")) || sheets < 2 || sheets > 12 {
		t.Errorf("%d sheets in a file of %d bytes", sheets, len(pdf))
	}
}
