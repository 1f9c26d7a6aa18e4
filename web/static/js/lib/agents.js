// What agents are called. Answers about executions have the ids of agents; people know their hosts.
import { get, withQuery } from './api.js'
import { patiently } from './retry.js'
import { may } from './session.js'
import { signal, useSignal } from './signal.js'

/** @typedef {{id: string, hostname: string}} Named */

/**
 * namesOf gives each agent its host's name and, where agents share a host, the end of its id behind it: as much of it as it takes.
 * @param {Map<string, string>} hosts by the ids of agents
 * @returns {Map<string, string>} by the ids of agents
 */
export function namesOf(hosts) {
  /** @type {Map<string, string[]>} */
  const on = new Map()
  for (const [id, host] of hosts) on.set(host, [...(on.get(host) ?? []), id])
  const ends = [(/** @type {string} */ id) => id.slice(id.lastIndexOf('-') + 1), (/** @type {string} */ id) => id.slice(-12), (/** @type {string} */ id) => id]
  return new Map([...on].flatMap(([host, ids]) => {
    const end = ends.find((of) => new Set(ids.map(of)).size === ids.length) ?? ends[2]
    return ids.map((id) => /** @type {[string, string]} */ ([id, ids.length === 1 ? host : `${host} (${end(id)})`]))
  }))
}

// For so many milliseconds an agent that is not there is not looked for again: a new leader learns of agents by their offers.
const missingFor = 60_000

/**
 * directory knows the names of agents. It reads all of them when it is asked for one that it does not know; one that is still not
 * among them, as it has left the cluster, keeps its id.
 * @param {() => Promise<Named[]>} read
 * @param {() => number} [now] in milliseconds
 */
export function directory(read, now = Date.now) {
  const names = signal(/** @type {Map<string, string>} */ (new Map()))
  let hosts = new Map()
  /** @type {Map<string, number>} */
  let missing = new Map()
  let wanted = new Set()
  let reading = false
  let user = 0
  /** @param {Named[]} agents */
  function learn(agents) {
    const news = agents.filter((a) => a.hostname && hosts.get(a.id) !== a.hostname)
    if (news.length === 0) return
    for (const a of news) hosts.set(a.id, a.hostname)
    names.set(namesOf(hosts))
  }
  async function look() {
    if (reading || wanted.size === 0) return
    reading = true
    const [of, asked] = [user, wanted]
    wanted = new Set()
    /** @type {Named[]} */
    const found = await read().catch(() => []) // ids do, then
    reading = false
    if (of === user) {
      learn(found)
      for (const id of asked) if (!hosts.has(id)) missing.set(id, now())
    }
    await look()
  }
  return {
    names,
    learn,
    /**
     * nameOf is what an agent is called; an answer may have its host's name beside its id.
     * @param {string} id
     * @param {string} [hostname]
     */
    nameOf(id, hostname) {
      const name = names.get().get(id)
      if (name !== undefined || !id) return name ?? ''
      if (now() - (missing.get(id) ?? -Infinity) >= missingFor) {
        wanted.add(id)
        queueMicrotask(look)
      }
      return hostname || id
    },
    /** forget is for when somebody else is here, who may see less. */
    forget() {
      user++
      hosts = new Map()
      missing = new Map()
      wanted = new Set()
      names.set(new Map())
    },
  }
}

/** readAll asks for all agents, page by page: nobody gets them who sees some apps only. @returns {Promise<Named[]>} */
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

/** useAgentNames gives the function that says what an agent is called, and draws the component again when more names are known. */
export function useAgentNames() {
  useSignal(agents.names)
  return agents.nameOf
}
