// The name of an agent: its host, with the id on hover and a link to its page.
import { html } from '../lib/html.js'
import { useAgentNames } from '../lib/agents.js'
import { link } from '../routes.js'

/** @param {{id: string | null | undefined, hostname?: string, class?: string, none?: string}} props */
export function Agent({ id, hostname, class: style, none = '' }) {
  const nameOf = useAgentNames()
  return id ? html`<a class=${style} href=${link.agent(id)} title=${id}>${nameOf(id, hostname)}</a>` : none
}
