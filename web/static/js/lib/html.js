// Exports everything that components are built from.
import { h } from '../../vendor/preact.js'
import htm from '../../vendor/htm.js'
import { within } from './base.js'

/**
 * element is h, but takes a link's href as a path of the server.
 * @param {any} type @param {any} props @param {any[]} children
 */
const element = (type, props, ...children) => h(type, type === 'a' && typeof props?.href === 'string' ? { ...props, href: within(props.href) } : props, ...children)

export const html = htm.bind(element)
export { h, render, Fragment, createContext } from '../../vendor/preact.js'
export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext, useId, useErrorBoundary } from '../../vendor/hooks.js'
