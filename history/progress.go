package history

import "slices"

// progress is how many batches of the newest term are stored, one after the other. A batch that is lost counts as
// stored once its commit has happened, so that it holds nothing up.
type progress struct {
	term    int64
	newest  int64 // that was appended
	stored  int64 // all up to it
	lost    []stretch
	doubt   bool          // the newest one is lost, and it is not known yet whether its commit has happened
	changed chan struct{} // closed, and replaced, when stored changes
}

// stretch is of batches beyond stored that are lost and whose commits have happened. There are few, in order: an
// outbox that stays full for hours makes one.
type stretch struct{ from, upto int64 }

func (p *progress) appended(term, number int64) {
	if term != p.term {
		p.term, p.newest, p.stored, p.lost, p.doubt = term, 0, 0, nil, false
	}
	if p.doubt && number > p.newest { // commits come one after the other
		p.addLost(p.newest)
	}
	p.newest, p.doubt = number, false
}

func (p *progress) lose(term, number int64) {
	switch {
	case term != p.term || number <= p.stored:
	case number < p.newest:
		p.addLost(number)
	default:
		p.doubt = true
	}
}

// settle reports whether the batch is lost.
func (p *progress) settle(term, number int64, happened bool) (lost bool) {
	if term != p.term || number != p.newest || !p.doubt {
		return false
	}
	if p.doubt = false; happened {
		p.addLost(number)
	}
	return true
}

// store says that a batch is stored. They come in order, and what is missing between them is lost.
func (p *progress) store(term, number int64) {
	if term == p.term {
		p.advance(max(p.stored, number))
	}
}

func (p *progress) addLost(number int64) {
	i, _ := slices.BinarySearchFunc(p.lost, number, func(s stretch, n int64) int { return int(s.from - n) })
	if i > 0 && p.lost[i-1].upto == number-1 {
		p.lost[i-1].upto = number
	} else {
		p.lost = slices.Insert(p.lost, i, stretch{number, number})
	}
	p.advance(p.stored)
}

// advance moves stored on, over what was lost.
func (p *progress) advance(to int64) {
	n := 0
	for n < len(p.lost) && p.lost[n].from <= to+1 {
		to = max(to, p.lost[n].upto)
		n++
	}
	p.lost = slices.Delete(p.lost, 0, n)
	if to != p.stored {
		p.stored = to
		close(p.changed)
		p.changed = make(chan struct{})
	}
}
