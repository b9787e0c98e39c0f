/** The colour map inferno: 256 colours as #rrggbb. */
declare const inferno: readonly string[];
export default inferno;
