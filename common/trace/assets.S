/* assets.S - the files of the page, as strings: trace_css, trace_html, trace_js. */
    .section .rodata
    .global trace_css, trace_html, trace_js
trace_css:
    .incbin "common/trace/page.css"
    .byte 0
trace_html:
    .incbin "common/trace/page.html"
    .byte 0
trace_js:
    .incbin "common/trace/model.js"
    .incbin "common/trace/pictures.js"
    .incbin "common/trace/player.js"
    .byte 0
    .section .note.GNU-stack,"",%progbits
