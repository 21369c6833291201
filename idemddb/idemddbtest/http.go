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

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

const contentType = "application/x-amz-json-1.0"

// Handler serves this DB by DynamoDB's protocol, JSON 1.0 over HTTP. It does not check signatures. Faults happen to the
// connection: it is reset for an answer that is lost, and stays silent until the client closes it for LateReply.
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

// reset resets the connection. If it is not a TCP connection, the server closes it.
func reset(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}

		_ = conn.Close()
	}

	panic(http.ErrAbortHandler)
}

// reply is an answer as bytes, with the fault that happens to it on its way.
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

// exchange answers one request, for the handler and for the client without sockets.
func (db *DB) exchange(ctx context.Context, target string, body []byte) reply {
	_, op, _ := strings.Cut(target, ".")

	in, err := decodeInput(op, body)
	if err != nil {
		return errorReply(err, None)
	}

	out, f, err := db.receive(ctx, in)
	switch {
	case f == ServerErrorApplied:
		return errorReply(exception.InternalServer(), f)
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
