package history

// progress is how many batches of the newest term are stored, one after the other. A batch that is lost counts as stored once its
// commit has happened, so that it holds nothing up.
type progress struct {
	term    int64
	newest  int64          // that was appended
	stored  int64          // all up to it
	lost    map[int64]bool // beyond stored: whether the commit is known to have happened
	changed chan struct{}  // closed, and replaced, when stored changes
}

func (p *progress) appended(term, number int64) {
	if term != p.term {
		p.term, p.newest, p.stored, p.lost = term, 0, 0, map[int64]bool{}
	}
	delete(p.lost, number)  // it was of a commit that never happened
	for n := range p.lost { // commits come one after the other
		p.lost[n] = p.lost[n] || n < number
	}
	p.newest = number
	p.advance(p.stored)
}

func (p *progress) lose(term, number int64) {
	if term != p.term || number <= p.stored {
		return
	}
	p.lost[number] = number < p.newest
	p.advance(p.stored)
}

func (p *progress) settle(term, number int64, happened bool) {
	if _, lost := p.lost[number]; term != p.term || !lost {
		return
	}
	if happened {
		p.lost[number] = true
	} else {
		delete(p.lost, number)
	}
	p.advance(p.stored)
}

// store says that a batch is stored. They come in order, and what is missing between them is lost.
func (p *progress) store(term, number int64) {
	if term == p.term {
		p.advance(max(p.stored, number))
	}
}

// advance moves stored on, over what was lost.
func (p *progress) advance(to int64) {
	for p.lost[to+1] {
		to++
	}
	for n := range p.lost {
		if n <= to {
			delete(p.lost, n)
		}
	}
	if to != p.stored {
		p.stored = to
		close(p.changed)
		p.changed = make(chan struct{})
	}
}
