package main

import (
	"net"
	"sync"
	"sync/atomic"
)

// meteredListener counts the connections that are opened and the bytes on them. It is safe for concurrent use.
type meteredListener struct {
	net.Listener

	opened atomic.Int64
	bytes  atomic.Int64

	mu   sync.Mutex
	open map[*meteredConn]struct{}
}

func (l *meteredListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err //nolint:wrapcheck // net/http looks at it
	}

	l.opened.Add(1)

	c := &meteredConn{Conn: conn, listener: l}

	l.mu.Lock()
	defer l.mu.Unlock()

	if l.open == nil {
		l.open = map[*meteredConn]struct{}{}
	}

	l.open[c] = struct{}{}

	return c, nil
}

// closeAll closes what is open: the idle connections of a run that is over, whose clients can't be told to.
func (l *meteredListener) closeAll() {
	l.mu.Lock()

	conns := make([]*meteredConn, 0, len(l.open))
	for c := range l.open {
		conns = append(conns, c)
	}

	l.mu.Unlock()

	for _, c := range conns {
		_ = c.Close() // its error is the other side's
	}
}

type meteredConn struct {
	net.Conn

	listener *meteredListener
}

func (c *meteredConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.listener.bytes.Add(int64(n))

	return n, err //nolint:wrapcheck // net/http looks at it
}

// Write counts first: once the other side has its answer, the count is right.
func (c *meteredConn) Write(p []byte) (int, error) {
	c.listener.bytes.Add(int64(len(p)))

	return c.Conn.Write(p) //nolint:wrapcheck // as above
}

func (c *meteredConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.open, c)
	c.listener.mu.Unlock()

	return c.Conn.Close() //nolint:wrapcheck // as above
}
