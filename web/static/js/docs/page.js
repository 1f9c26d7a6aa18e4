// The page with the API's description: groups of operations, and the schemas of requests and answers.
import { html, useEffect, useMemo, useState } from '../lib/html.js'
import { loginNeeded } from '../lib/api.js'
import { useResource } from '../lib/resource.js'
import { session, sessionError } from '../lib/session.js'
import { useSignal } from '../lib/signal.js'
import { language } from '../lib/store.js'
import { texts } from '../lib/texts.js'
import { themeName, turnLanguage, turnTheme } from '../frame/nav.js'
import { theme } from '../lib/store.js'
import { Failure } from '../pieces/notice.js'
import { Login, NoUsers } from '../pages/login.js'
import { groupsOf, search } from './description.js'
import { Operation } from './operation.js'
import { Fields, schemaAnchor } from './schema.js'

const t = texts(
  { title: 'API', console: 'Console', search: 'Search the API', none: 'No match in the API.', schemas: 'Schemas', groups: 'Groups', other: '中文', count: '{n|operation|operations}', file: 'openapi.json', skip: 'Skip to the content' },
  { title: 'API', console: '控制台', search: '搜索 API', none: '没有匹配的接口。', schemas: '数据结构', groups: '分组', other: 'English', count: '{n} 个接口', file: 'openapi.json', skip: '跳到内容' },
)

/** Docs draws the page, or the login while no user is logged in. */
export function Docs() {
  const who = useSignal(session)
  const login = useSignal(loginNeeded)
  const error = useSignal(sessionError)
  useSignal(language)
  useSignal(theme)
  if (login) return html`<${Login} />`
  if (!who) return error?.code === 'no_users' ? html`<${NoUsers} />` : html`<main class="content"><${Failure} error=${error ?? new Error('')} again=${() => location.reload()} /></main>`
  return html`<${Description} key=${`${who.name} ${language.get()}`} />`
}

function Description() {
  const { data: all, error, retrying, reload } = useResource('/api/openapi.json')
  const [typed, setTyped] = useState('')
  const groups = useMemo(() => (all ? groupsOf(all) : []), [all])
  const wanted = useAnchor(all !== undefined)
  if (!all) return error ? html`<main class="content"><${Failure} error=${error} again=${reload} busy=${retrying} /></main>` : null
  const found = search(groups, typed)
  return html`<a class="skip" href="#content">${t('skip')}</a>
    <header class="docs-head">
      <a href="/"><strong>ElasticJob</strong></a>
      <h1>${t('title')} <span class="muted small">${all.info.version}</span></h1>
      <input class="input grow" type="search" aria-label=${t('search')} placeholder=${t('search')} value=${typed} autocomplete="off" spellcheck="false" onInput=${(/** @type {any} */ e) => setTyped(e.target.value)} />
      <a class="button" href="/api/openapi.json">${t('file')}</a>
      <button type="button" class="button" onClick=${turnTheme}>${themeName()}</button>
      <button type="button" class="button" onClick=${turnLanguage}>${t('other')}</button>
    </header>
    <div class="docs">
      <nav class="docs-nav" aria-label=${t('groups')}>${found.map((g) => html`<a key=${g.name} href=${`#${anchor(g.name)}`}>${g.name}</a>`)}<a href="#schemas">${t('schemas')}</a></nav>
      <main id="content" tabindex="-1">
        ${!typed && all.info.description.split('\n\n').map((/** @type {string} */ text) => html`<p key=${text}>${text}</p>`)}
        ${found.length === 0 && html`<p role="status">${t('none')}</p>`}
        ${found.map((g) => html`<section key=${g.name} id=${anchor(g.name)} aria-label=${g.name}>
          <h2>${g.name}</h2><p class="muted">${g.about} ${t('count', { n: g.operations.length })}</p>
          ${g.operations.map((o) => html`<${Operation} key=${`${o.id} ${wanted === o.id}`} of=${o} opened=${wanted === o.id} />`)}
        </section>`)}
        <section id="schemas" aria-label=${t('schemas')}><h2>${t('schemas')}</h2>
          ${Object.keys(all.components.schemas).sort().map((name) => html`<${SchemaOf} key=${`${name} ${wanted === schemaAnchor(name)}`} name=${name} of=${all.components.schemas[name]} opened=${wanted === schemaAnchor(name)} />`)}
        </section>
      </main>
    </div>`
}

const anchor = (/** @type {string} */ group) => `group-${group.toLowerCase().replaceAll(' ', '-')}`

/** @param {{name: string, of: import('./description.js').Schema, opened: boolean}} props */
function SchemaOf({ name, of, opened }) {
  const [open, setOpen] = useState(opened)
  return html`<details id=${schemaAnchor(name)} class="docs-operation" open=${open} onToggle=${(/** @type {any} */ e) => setOpen(e.target.open)}>
    <summary><code class="docs-path">${name}</code></summary>${open && html`<div class="docs-details"><${Fields} of=${of} /></div>`}
  </details>`
}

/**
 * useAnchor returns the anchor in the address, and scrolls to the element with this id.
 * @param {boolean} drawn
 */
function useAnchor(drawn) {
  const [hash, setHash] = useState(location.hash.slice(1))
  useEffect(() => {
    const turn = () => setHash(location.hash.slice(1))
    addEventListener('hashchange', turn)
    return () => removeEventListener('hashchange', turn)
  }, [])
  useEffect(() => void (drawn && hash && document.getElementById(hash)?.scrollIntoView()), [hash, drawn])
  return hash
}
