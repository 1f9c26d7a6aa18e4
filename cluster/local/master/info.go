package master

import (
	"encoding/binary"

	"github.com/mesos/mesos-go/api/v1/lib"
)

// info is what the master says of itself to frameworks.
func (m *Master) info() *mesos.MasterInfo {
	ip4, ip, port := m.opts.Address.Addr().As4(), m.opts.Address.Addr().String(), uint32(m.opts.Address.Port())
	version, pid := Version, "master@"+m.opts.Address.String()
	return &mesos.MasterInfo{
		ID: m.id,
		// As Mesos has it: the address in network order, read on a little-endian machine.
		IP:   binary.LittleEndian.Uint32(ip4[:]),
		Port: &port, PID: &pid, Hostname: &ip, Version: &version,
		Address:      &mesos.Address{Hostname: &ip, IP: &ip, Port: int32(port)},
		Capabilities: []mesos.MasterInfo_Capability{{Type: mesos.MasterInfo_Capability_AGENT_UPDATE}},
	}
}
