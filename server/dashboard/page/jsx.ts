/** The build imports them into each module with JSX: calls of `h` are shorter than those of `jsx`. */
export { Fragment, h } from 'preact'
