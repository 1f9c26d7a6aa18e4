package logs

// Find searches a text that arrives in pieces of size bytes. It returns the matches, up to the number most, and the
// offset at which a next search would continue.
func Find(text, wanted string, most, size int) (found []Match, next int64) {
	f := newFinder(wanted, 0, most)
	for {
		n := min(size, len(text))
		f.search([]byte(text[:n]), n == len(text))
		if text = text[n:]; text == "" || f.full() {
			return f.found, f.next()
		}
	}
}
