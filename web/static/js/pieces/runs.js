// The last runs of a job as a small strip of links. The newest is at the right, and the height shows the outcome.
import { html } from '../lib/html.js'
import { duration, moment } from '../lib/format.js'
import { texts } from '../lib/texts.js'
import { useZone } from '../lib/zone.js'
import { link } from '../routes.js'
import { lookOf, stateWord } from './state.js'

const t = texts({ run: '{state}, fired {time}', took: '{state}, fired {time}, took {took}' }, { run: '{state}，触发于 {time}', took: '{state}，触发于 {time}，耗时 {took}' })

/** @typedef {{executionId: string, state: string, fireTime: string, durationMillis: number | null}} Run */

/**
 * Runs draws at most 30 runs, always in the same width. Its links are for the pointer only: with the keyboard, users reach the last run
 * by the link in the column beside it, and all runs on the job's page.
 * @param {{runs: Run[], jobZone?: string}} props
 */
export function Runs({ runs, jobZone }) {
  const zone = useZone(jobZone)
  return html`<span class="runs">${runs.slice(-30).map((r) => {
    const [style, mark] = lookOf(r.state)
    const words = { state: `${mark} ${stateWord(r.state)}`, time: moment(r.fireTime, zone), took: duration(r.durationMillis) }
    const title = t(r.durationMillis == null ? 'run' : 'took', words)
    return html`<a key=${r.executionId} class=${`s-${style}`} href=${link.execution(r.executionId)} tabindex="-1" title=${title} aria-label=${title}></a>`
  })}</span>`
}
