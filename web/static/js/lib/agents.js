// The names of agents. Answers about executions contain the ids of agents, but users know the hosts.
import { get, withQuery } from './api.js'
import { patiently } from './retry.js'
import { may } from './session.js'
import { signal, useSignal } from './signal.js'

/** @typedef {{id: string, hostname: string}} Named */

/**
 * namesOf names each agent by its host. Where agents share a host, the name also has the end of the id, as much of it as is needed to
 * distinguish them.
 * @param {Map<string, string>} hosts by the ids of agents
 * @returns {Map<string, string>} by the ids of agents
 */
export function namesOf(hosts) {
  /** @type {Map<string, string[]>} */
  const byHost = new Map()
  for (const [id, host] of hosts) byHost.set(host, [...(byHost.get(host) ?? []), id])
  const ends = [(/** @type {string} */ id) => id.slice(id.lastIndexOf('-') + 1), (/** @type {string} */ id) => id.slice(-12), (/** @type {string} */ id) => id]
  return new Map([...byHost].flatMap(([host, ids]) => {
    const end = ends.find((of) => new Set(ids.map(of)).size === ids.length) ?? ends[2]
    return ids.map((id) => /** @type {[string, string]} */ ([id, ids.length === 1 ? host : `${host} (${end(id)})`]))
  }))
}

// The directory looks for an agent that it did not find again after this time in milliseconds, because a new leader learns of agents
// only from their offers.
const missingFor = 60_000

/**
 * directory knows the names of agents. It reads all of them when it is asked for an agent that it does not know. An agent that is not
 * found then, because it has left the cluster, is named by its id.
 * @param {() => Promise<Named[]>} read
 * @param {() => number} [now] the clock, in milliseconds
 */
export function directory(read, now = Date.now) {
  const names = signal(/** @type {Map<string, string>} */ (new Map()))
  let hosts = new Map()
  /** @type {Map<string, number>} */
  let missing = new Map()
  let wanted = new Set()
  let reading = false
  let users = 0 // how often another user has logged in
  /** @param {Named[]} agents */
  function add(agents) {
    const news = agents.filter((a) => a.hostname && hosts.get(a.id) !== a.hostname)
    if (news.length === 0) return
    for (const a of news) hosts.set(a.id, a.hostname)
    names.set(namesOf(hosts))
  }
  async function readMissing() {
    if (reading || wanted.size === 0) return
    reading = true
    const [before, asked] = [users, wanted]
    wanted = new Set()
    /** @type {Named[]} */
    const found = await read().catch(() => []) // after an error, agents are named by their ids
    reading = false
    if (before === users) { // otherwise the answer is that for a former user
      add(found)
      for (const id of asked) if (!hosts.has(id)) missing.set(id, now())
    }
    await readMissing()
  }
  return {
    names,
    add,
    /**
     * nameOf returns the name of an agent. Until that is known, it returns the hostname that the caller gives, or otherwise the id.
     * @param {string} id
     * @param {string} [hostname]
     */
    nameOf(id, hostname) {
      const name = names.get().get(id)
      if (name !== undefined || !id) return name ?? ''
      if (now() - (missing.get(id) ?? -Infinity) >= missingFor) {
        wanted.add(id)
        queueMicrotask(readMissing)
      }
      return hostname || id
    },
    /** forget removes all names. It is called when another user has logged in, who may see fewer agents. */
    forget() {
      users++
      hosts = new Map()
      missing = new Map()
      wanted = new Set()
      names.set(new Map())
    },
  }
}

/** readAll reads all agents, page by page. Users who may see only some apps get none. @returns {Promise<Named[]>} */
async function readAll() {
  /** @type {Named[]} */
  const all = []
  for (let page = 1; may('viewer'); page++) {
    const { agents, agentsTotal } = await patiently(() => get(withQuery('/api/cluster', { page: page > 1 ? page : '', per_page: 500 })), new AbortController().signal)
    all.push(...agents)
    if (agents.length === 0 || all.length >= agentsTotal) break
  }
  return all
}

export const agents = directory(readAll)

/** useAgentNames returns the function nameOf, and draws the component again when more names are known. */
export function useAgentNames() {
  useSignal(agents.names)
  return agents.nameOf
}
