package loopback

import (
	"net"
	"sync/atomic"
)

// countingListener counts the connections that clients open and the bytes on them, in both directions. It is safe for
// concurrent use.
type countingListener struct {
	net.Listener

	opened atomic.Int64
	bytes  atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err //nolint:wrapcheck // net/http compares it
	}

	l.opened.Add(1)

	return &countingConn{Conn: conn, bytes: &l.bytes}, nil
}

type countingConn struct {
	net.Conn

	bytes *atomic.Int64
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes.Add(int64(n))

	return n, err //nolint:wrapcheck // net/http compares it
}

// Write counts before it writes, so that the count is complete when the client has its answer.
func (c *countingConn) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))

	return c.Conn.Write(p) //nolint:wrapcheck // net/http compares it
}
