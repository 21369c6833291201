package operate_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb"
)

// reversed is a Codec, by which nothing can be read as it is.
type reversed struct{}

func (reversed) Seal(_ context.Context, plain []byte, _ idemddb.Sealed) ([]byte, error) {
	return append([]byte("sealed "), bytes.ToUpper(plain)...), nil
}

func (reversed) Open(_ context.Context, sealed []byte, _ idemddb.Sealed) ([]byte, error) {
	return bytes.ToLower(bytes.TrimPrefix(sealed, []byte("sealed "))), nil
}

// Whoever looks must not take the sealed bytes for the result.
func TestASealedRecordSaysSoAndShowsNoResult(t *testing.T) {
	onEachEngine(t, idemddb.Options{Codec: reversed{}}, func(d *desk) {
		d.announce("k")

		if v := d.look("k"); len(v.Messages) != 1 || !v.Messages[0].Sealed || v.Messages[0].Bytes == 0 {
			d.t.Errorf("got %+v", v.Messages)
		}

		if err := d.claim("l").Complete(d.t.Context(), []byte("paid")); err != nil {
			d.t.Fatal(err)
		}

		if v := d.look("l"); !v.ResultSealed || v.Result != nil || v.ResultBytes != len("sealed paid") {
			d.t.Errorf("got %+v", v)
		}
	})
}
