// The frame of each page: breadcrumb, search, main action, problems, and the content.
import { html, useEffect } from '../lib/html.js'
import { texts } from '../lib/texts.js'
import { Icon } from '../pieces/icon.js'
import { ConnectionBar } from './connection.js'
import { showPalette } from './palette.js'
import { Problems } from './problems.js'

const t = texts({ search: 'Search jobs, apps, pages', path: 'Where you are' }, { search: '搜索作业、应用、页面', path: '当前位置' })

/**
 * Page draws a page. Its title is the last part of the breadcrumb and the heading. Actions are at the right of the heading, the main
 * one in the header.
 * @param {{title: string, crumbs?: {to: string, text: string}[], heading?: any, main?: any, acts?: any, class?: string, children?: any}} props
 */
export function Page({ title, crumbs = [], heading, main, acts, class: style = '', children }) {
  useEffect(() => {
    document.title = title ? `${title} · ElasticJob` : 'ElasticJob'
  }, [title])
  return html`<header class="header">
      <nav class="grow" aria-label=${t('path')}><ol class="crumbs">
        ${crumbs.map((c) => html`<li key=${c.to}><a href=${c.to}>${c.text}</a></li>`)}
        <li><span aria-current="page" title=${title}>${title}</span></li>
      </ol></nav>
      <button type="button" class="search-button" onClick=${showPalette}><${Icon} name="search" /><span class="grow">${t('search')}</span><kbd>/</kbd></button>
      ${main}
    </header>
    <${ConnectionBar} />
    <${Problems} />
    <main class=${`content ${style}`} id="content" tabindex="-1">
      <div class="page-head"><h1>${title}</h1>${heading}${acts && html`<div class="acts">${acts}</div>`}</div>
      ${children}
    </main>`
}
