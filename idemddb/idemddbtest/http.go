package idemddbtest

import (
	"context"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

const contentType = "application/x-amz-json-1.0"

// Handler serves this DB as DynamoDB's protocol over HTTP, JSON 1.0. Signatures are not checked. Faults come out as they would on a
// real connection: a lost answer as a reset, LateReply as silence until the client hangs up.
func (db *DB) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		reply := db.exchange(r.Context(), r.Header.Get("X-Amz-Target"), body)
		switch {
		case reply.fault.breaks():
			reset(w)
		case reply.fault == LateReply:
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}
		reply.header(w.Header())
		w.Header().Set("Content-Length", strconv.Itoa(len(reply.body)))
		w.WriteHeader(reply.status)
		if reply.fault == TruncatedBody {
			_, _ = w.Write(reply.body[:len(reply.body)/2])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(reply.body)
	})
}

// reset breaks the connection the hard way; where that can't be had, the server just closes it.
func reset(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
	panic(http.ErrAbortHandler)
}

// A reply is what goes back over the wire, and what happens to it on the way.
type reply struct {
	status int
	body   []byte
	fault  Fault
}

func (r reply) header(h http.Header) {
	h.Set("Content-Type", contentType)
	h.Set("X-Amzn-RequestId", "IDEMDDBTEST")
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(r.body)), 10))
}

// exchange is one request and its reply as bytes, the same for sockets and for the client without them.
func (db *DB) exchange(ctx context.Context, target string, body []byte) reply {
	_, op, _ := strings.Cut(target, ".")
	in, err := decodeInput(op, body)
	if err != nil {
		return errorReply(err, None)
	}
	out, f, err := db.receive(ctx, in)
	switch {
	case f == ServerErrorApplied:
		return errorReply(errServer(), f)
	case f.breaks():
		return reply{fault: f}
	case f == EmptyAnswer, f == EmptyAnswerApplied:
		return reply{status: http.StatusOK, fault: f}
	case err != nil:
		return errorReply(err, f)
	}
	encoded, err := encode(out.(smithy.Serializable))
	if err != nil {
		return errorReply(err, f)
	}
	return reply{http.StatusOK, encoded, f}
}

func errorReply(err error, f Fault) reply {
	status := http.StatusBadRequest
	if _, ok := err.(*types.InternalServerError); ok {
		status = http.StatusInternalServerError
	}
	body, err := encodeError(err)
	if err != nil {
		return reply{http.StatusInternalServerError, []byte(`{"__type":"InternalServerError"}`), f}
	}
	return reply{status, body, f}
}
