package lambdawrap

import "sync"

// inHand are the keys on which the invocations of a process work. Where several invocations overlap in one process, a message can come whose
// key another one of them works on: it waits for the end of that work, as it would in one batch.
type inHand struct {
	mu   sync.Mutex
	keys map[string]chan struct{} // closed when the work ends
}

// take notes that work on a key begins. The returned function notes its end.
func (h *inHand) take(key string) (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()

	if h.keys == nil {
		h.keys = map[string]chan struct{}{}
	}

	ended := make(chan struct{})
	h.keys[key] = ended

	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()

		if h.keys[key] == ended { // else it was taken over, by this very process
			delete(h.keys, key)
		}

		close(ended)
	}
}

// ended returns a channel that is closed when the work on a key ends; nil if nothing works on it.
func (h *inHand) ended(key string) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()

	return h.keys[key]
}
