import { html } from '../lib/html.js'

// Icons as strokes on a grid of 16.
const paths = {
  overview: 'M2 9l6-6 6 6M4 8v5h8V8',
  apps: 'M2.5 5L8 2l5.5 3v6L8 14l-5.5-3zM2.5 5L8 8l5.5-3M8 8v6',
  jobs: 'M3 4h10M3 8h10M3 12h6',
  executions: 'M4 3l9 5-9 5z',
  cluster: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01',
  history: 'M8 4v4l3 2M2.5 8a5.5 5.5 0 1 0 1.6-3.9L2.5 5.5M2.5 2.5v3h3',
  audit: 'M4 2h6l3 3v9H4zM6.5 8h4M6.5 11h4',
  users: 'M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M11 3.2a2.4 2.4 0 0 1 0 4.6M12 9.8c1.6.5 2.5 1.9 2.5 3.7',
  tokens: 'M10 9a3.5 3.5 0 1 0-3.3-2.3L2 11.5V14h2.5v-1.5H6V11h1.5l.8-.8A3.5 3.5 0 0 0 10 9zM10.5 5.5h.01',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.5 10.5L14 14',
  menu: 'M2 4h12M2 8h12M2 12h12',
  close: 'M4 4l8 8M12 4l-8 8',
  collapse: 'M10 4L6 8l4 4',
  expand: 'M6 4l4 4-4 4',
  theme: 'M8 2a6 6 0 1 0 6 6 4.5 4.5 0 0 1-6-6z',
  language: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM2 8h12M8 2c2 2 2.5 4 2.5 6s-.5 4-2.5 6c-2-2-2.5-4-2.5-6s.5-4 2.5-6z',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3l2 1.5',
  user: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c.5-3 2.5-4.5 5.5-4.5s5 1.5 5.5 4.5',
  out: 'M6 2.5H3v11h3M7 8h7M11 5l3 3-3 3',
  copy: 'M5.5 5.5h8v8h-8zM3 10.5H2.5v-8h8V3',
  more: 'M3 8h.01M8 8h.01M13 8h.01',
  down: 'M4 6l4 4 4-4',
  up: 'M4 10l4-4 4 4',
  plus: 'M8 3v10M3 8h10',
  play: 'M5 3l8 5-8 5z',
  pause: 'M5 3v10M11 3v10',
  stop: 'M4 4h8v8H4z',
  trash: 'M3 4h10M6 4V2.5h4V4M4.5 4l.5 9.5h6l.5-9.5',
  edit: 'M3 13l.5-3L11 2.5 13.5 5 6 12.5z',
  download: 'M8 2v8M5 7l3 3 3-3M3 13.5h10',
  refresh: 'M13.5 8A5.5 5.5 0 1 1 11.5 3.800L13.5 5.5M13.5 2.5v3h-3',
  warning: 'M8 2.5l6 11H2zM8 7v3M8 12h.01',
  api: 'M6 4L2 8l4 4M10 4l4 4-4 4',
  link: 'M7 9l2-2M6 6L4 8a2.800 2.800 0 0 0 4 4l2-2M10 10l2-2a2.800 2.800 0 0 0-4-4L6 6',
}

/** @typedef {keyof typeof paths} IconName */

/**
 * Icon is only a drawing. Its meaning must also be said by a word or a label beside it.
 * @param {{name: IconName, size?: number}} props
 */
export function Icon({ name, size = 16 }) {
  return html`<svg width=${size} height=${size} viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false"><path d=${paths[name]} /></svg>`
}
