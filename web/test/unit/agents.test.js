import '../lib/nobrowser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { directory, namesOf } from '../../static/js/lib/agents.js'

test('an agent is named after its host, with the end of its id if agents share the host', () => {
  for (const [hosts, want] of /** @type {[Record<string, string>, Record<string, string>][]} */ ([
    [{ 'a-S0': 'db-1', 'a-S1': 'db-2' }, { 'a-S0': 'db-1', 'a-S1': 'db-2' }],
    [{ 'a-S0': 'db-1', 'a-S1': 'db-2', 'a-S7': 'db-1' }, { 'a-S0': 'db-1 (S0)', 'a-S7': 'db-1 (S7)', 'a-S1': 'db-2' }],
    [{ '1234-0001-S0': 'db-1', '1234-0002-S0': 'db-1' }, { '1234-0001-S0': 'db-1 (1234-0001-S0)', '1234-0002-S0': 'db-1 (1234-0002-S0)' }],
    [{ '0123456789-0123-0001-S0': 'db-1', '0123456789-0123-0002-S0': 'db-1' }, { '0123456789-0123-0001-S0': 'db-1 (0123-0001-S0)', '0123456789-0123-0002-S0': 'db-1 (0123-0002-S0)' }],
    [{ 'first-long-master-id-S0': 'db-1', 'other-long-master-id-S0': 'db-1' }, { 'first-long-master-id-S0': 'db-1 (first-long-master-id-S0)', 'other-long-master-id-S0': 'db-1 (other-long-master-id-S0)' }],
    [{}, {}],
  ])) assert.deepEqual(Object.fromEntries(namesOf(new Map(Object.entries(hosts)))), want)
})

test('an unknown agent causes one read of all agents at a time; agents that have left are shown by id', async () => {
  let reads = 0
  let now = 0
  /** @type {() => void} */
  let answer = () => {}
  let cluster = [{ id: 'S0', hostname: 'db-1' }, { id: 'S9', hostname: '' }]
  const all = directory(() => new Promise((done) => {
    reads++
    answer = () => done(cluster)
  }), () => now)
  const settled = async () => {
    for (let i = 0; i < 10; i++) await null
  }
  assert.equal(all.nameOf(''), '')
  await settled()
  assert.equal(reads, 0)
  assert.equal(all.nameOf('S0'), 'S0')
  assert.equal(all.nameOf('gone'), 'gone')
  assert.equal(all.nameOf('S1', 'db-2'), 'db-2')
  await settled()
  all.nameOf('S9')
  await settled()
  assert.equal(reads, 1)
  answer()
  await settled()
  assert.equal(all.nameOf('S0'), 'db-1')
  assert.equal(reads, 2, 'for S9, which was asked for meanwhile')
  answer()
  await settled()
  for (const id of ['gone', 'S1', 'S9']) assert.equal(all.nameOf(id), id)
  await settled()
  assert.equal(reads, 2, 'they are not there')
  cluster = [...cluster, { id: 'S2', hostname: 'db-1' }]
  all.nameOf('S2')
  await settled()
  answer()
  await settled()
  assert.deepEqual([all.nameOf('S0'), all.nameOf('S2')], ['db-1 (S0)', 'db-1 (S2)'])
  cluster = [{ id: 'S9', hostname: 'db-9' }]
  now = 60_000
  all.nameOf('S9')
  await settled()
  answer()
  await settled()
  assert.equal(all.nameOf('S9'), 'db-9', 'it has come back')
})

test('forget removes all names, also those of a read in progress', async () => {
  /** @type {(agents: {id: string, hostname: string}[]) => void} */
  let answer = () => {}
  const all = directory(() => new Promise((done) => (answer = done)))
  all.add([{ id: 'S0', hostname: 'db-1' }])
  all.nameOf('S1')
  await null
  all.forget()
  answer([{ id: 'S1', hostname: 'db-2' }])
  for (let i = 0; i < 10; i++) await null
  assert.equal(all.names.get().size, 0)
  const broken = directory(() => Promise.reject(new Error('not allowed')))
  broken.nameOf('S0')
  for (let i = 0; i < 10; i++) await null
  assert.equal(broken.nameOf('S0'), 'S0')
})
