// A search in all of an output, at its agent: what is found leads there.
import { html, useEffect, useState } from '../lib/html.js'
import { get, seg, withQuery } from '../lib/api.js'
import { plain } from '../lib/ansi.js'
import { number, size } from '../lib/format.js'
import { texts } from '../lib/texts.js'
import { useBusy } from './act.js'

const t = texts(
  { label: 'Matches', found: '{n|line|lines} with “{q}” in {looked} of {size}', more: 'Search on', none: 'Nothing found in all of the output.', noneYet: 'Nothing found in the first {looked}.', close: 'Close', searching: 'Searching' },
  { label: '匹配结果', found: '在 {size} 中已查找 {looked}，{n} 行包含“{q}”', more: '继续查找', none: '全部输出中没有找到。', noneYet: '前 {looked} 中没有找到。', close: '关闭', searching: '正在查找' },
)

/** @typedef {{offset: number, at: number, line: string}} Match */

/**
 * LogSearch searches, and goes on when that is wanted.
 * @param {{task: string, stream: string, query: string, at: number | null, linkTo: (at: number) => string, onClose: () => void}} props
 */
export function LogSearch({ task, stream, query, at, linkTo, onClose }) {
  const [found, setFound] = useState(/** @type {{matches: Match[], next: number | null, size: number} | null} */ (null))
  const [error, setError] = useState('')
  const [busy, run] = useBusy()
  const ask = async (/** @type {Match[]} */ before, /** @type {number} */ offset, /** @type {AbortSignal} */ signal) => {
    try {
      const more = await get(withQuery(`/api/task/${seg(task)}/logs/search`, { stream, q: query, offset }), signal)
      setFound({ matches: [...before, ...more.matches], next: more.next, size: more.size })
      setError('')
    } catch (e) {
      if (!signal.aborted) setError(/** @type {Error} */ (e).message)
    }
  }
  useEffect(() => {
    const abort = new AbortController()
    setFound(null)
    void ask([], 0, abort.signal)
    return () => abort.abort()
  }, [task, stream, query])
  const n = found?.matches.length ?? 0
  const looked = found && size(found.next ?? found.size)
  return html`<section class="log-matches" aria-label=${t('label')} aria-busy=${!found && !error}>
    <div class="head row spread"><span role="status">${error || (!found ? t('searching') : n ? t('found', { n, q: query, looked, size: size(found.size) }) : found.next === null ? t('none') : t('noneYet', { looked }))}</span>
      <span class="row">
        ${found?.next != null && html`<button type="button" class="button small" disabled=${busy} onClick=${() => run(() => ask(found.matches, /** @type {number} */ (found.next), new AbortController().signal))}>${busy && html`<span class="busy"></span>`}${t('more')}</button>`}
        <button type="button" class="button small" onClick=${onClose}>${t('close')}</button>
      </span></div>
    ${found?.matches.map((m) => html`<a key=${m.offset} href=${linkTo(m.offset)} aria-current=${m.offset === at ? 'true' : undefined}><span class="muted mono nowrap">${number(m.offset)}</span><span class="mono cut">${plain(m.line)}</span></a>`)}
  </section>`
}
