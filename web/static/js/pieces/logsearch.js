// A search in the whole output, which the agent performs. Each result is a link to its line.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { get, seg, withQuery } from '../lib/api.js'
import { plain } from '../lib/ansi.js'
import { number, size } from '../lib/format.js'
import { patiently } from '../lib/retry.js'
import { texts } from '../lib/texts.js'

const t = texts(
  { label: 'Matches', found: '{n|line|lines} with “{q}” in {looked} of {size}', more: 'Search on', none: 'Nothing found in all of the output.', searchingYet: 'Searching: {looked} of {size}', close: 'Close', searching: 'Searching' },
  { label: '匹配结果', found: '在 {size} 中已查找 {looked}，{n} 行包含“{q}”', more: '继续查找', none: '全部输出中没有找到。', searchingYet: '正在查找：{looked} / {size}', close: '关闭', searching: '正在查找' },
)

/** @typedef {{offset: number, at: number, line: string}} Match */

/**
 * LogSearch searches until it has found something or has searched the whole output, and continues when the user asks for that. Each
 * request searches only a part of a large output.
 * @param {{task: string, stream: string, query: string, at: number | null, linkTo: (at: number) => string, onClose: () => void}} props
 */
export function LogSearch({ task, stream, query, at, linkTo, onClose }) {
  const [found, setFound] = useState(/** @type {{matches: Match[], next: number | null, size: number} | null} */ (null))
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(true)
  const current = useRef(new AbortController())
  const search = async (/** @type {Match[]} */ before, /** @type {number | null} */ next) => {
    const { signal } = current.current
    setError('')
    setBusy(true)
    try {
      for (let matches = before; next !== null && matches.length === before.length; ) {
        const path = withQuery(`/api/task/${seg(task)}/logs/search`, { stream, q: query, offset: next })
        const more = await patiently(() => get(path, signal), signal, (e) => setError(e.message))
        setError('')
        next = more.next
        matches = [...matches, ...more.matches]
        setFound({ matches, next, size: more.size })
      }
    } catch (e) {
      if (!signal.aborted) setError(/** @type {Error} */ (e).message)
    }
    if (!signal.aborted) setBusy(false)
  }
  useEffect(() => {
    current.current = new AbortController()
    setFound(null)
    void search([], 0)
    return () => current.current.abort()
  }, [task, stream, query])
  const n = found?.matches.length ?? 0
  const looked = found && size(found.next ?? found.size)
  const said = () => {
    if (error || !found) return error || t('searching')
    if (n) return t('found', { n, q: query, looked, size: size(found.size) })
    return found.next === null ? t('none') : t('searchingYet', { looked, size: size(found.size) })
  }
  return html`<section class="log-matches" aria-label=${t('label')} aria-busy=${busy}>
    <div class="head row spread"><span role="status">${said()}</span>
      <span class="row">
        ${found && found.next !== null && (n > 0 || error) && html`<button type="button" class="button small" disabled=${busy} onClick=${() => search(found.matches, found.next)}>${busy && html`<span class="busy"></span>`}${t('more')}</button>`}
        <button type="button" class="button small" onClick=${onClose}>${t('close')}</button>
      </span></div>
    ${found?.matches.map((m) => html`<a key=${m.offset} href=${linkTo(m.offset)} aria-current=${m.offset === at ? 'true' : undefined}><span class="muted mono nowrap">${number(m.offset)}</span><span class="mono cut">${plain(m.line)}</span></a>`)}
  </section>`
}
