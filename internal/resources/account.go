package resources

// Account is the sum of the resources of some tasks. The zero value has no tasks.
type Account struct {
	tasks, daemons int
	used           Amount
}

// Allot adds a task with its demand.
func (a *Account) Allot(need Amount, daemon bool) {
	a.tasks++
	if daemon {
		a.daemons++
	}
	a.used = a.used.Plus(need)
}

// Release removes a task that was added with the same arguments.
func (a *Account) Release(need Amount, daemon bool) {
	a.tasks--
	if daemon {
		a.daemons--
	}
	a.used = a.used.Minus(need)
}

// Tasks returns the number of tasks, including those of daemons.
func (a Account) Tasks() int { return a.tasks }

// Daemons returns the number of tasks of daemons.
func (a Account) Daemons() int { return a.daemons }

// Used returns the sum of the demands.
func (a Account) Used() Amount { return a.used }
