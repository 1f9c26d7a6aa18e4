package notify

// StartTLSAt adds a port on which a mail server expects STARTTLS.
func (s *Sender) StartTLSAt(port int) { s.startTLSPorts = append(s.startTLSPorts, port) }
