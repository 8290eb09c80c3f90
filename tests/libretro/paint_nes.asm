; Paint, for a NES: two balls, moved by two pads, paint the floor; a third one, moved by numbers that
; the pads have a part in, wipes it. A lifts the brush and sounds, B doubles the speed.

x = $00         ; of three balls, in pixels
y = $03
pad = $06       ; A B select start up down left right, from the highest bit
number = $09    ; the third one's pad comes from it
count = $0a     ; of pictures
low = $0b
idle = $0c      ; counts as fast as it can between pictures: depends on every cycle

start:
    sei
    cld
    ldx #$40
    stx $4017
    ldx #$ff
    txs
    inx
    stx $2000
    stx $2001
    stx $4010
first_picture:
    bit $2002
    bpl first_picture
clear:
    lda #0
    sta <0,x
    sta $0100,x
    sta $0200,x
    sta $0300,x
    sta $0400,x
    sta $0500,x
    sta $0600,x
    sta $0700,x
    inx
    bne clear
second_picture:
    bit $2002
    bpl second_picture

    lda #$3f    ; colours
    sta $2006
    lda #0
    sta $2006
    ldx #0
next_colour:
    lda colours,x
    sta $2007
    inx
    cpx #32
    bne next_colour

    lda #$20    ; the floor
    sta $2006
    lda #0
    sta $2006
    ldx #0
    ldy #4
    lda #1
next_tile:
    sta $2007
    inx
    bne next_tile
    dey
    bne next_tile
    lda #$23    ; all of it in the first four colours
    sta $2006
    lda #$c0
    sta $2006
    ldx #64
    lda #0
next_colouring:
    sta $2007
    dex
    bne next_colouring

    lda #64     ; where the balls are
    sta <x
    lda #184
    sta <x+1
    lda #124
    sta <x+2
    lda #112
    sta <y
    sta <y+1
    sta <y+2
    lda #1
    sta <number
    sta $4015   ; one channel of sound
    lda #$08
    sta $4001
    lda #$80
    sta $2000
    lda #$1e
    sta $2001
wait:
    inc <idle
    jmp wait

frame:
    lda #0      ; the balls' places to the screen
    sta $2003
    lda #2
    sta $4014

    ldx #2
paint:
    lda <pad,x
    and #$80
    bne lifted
    lda <y,x    ; of 32 tiles in a row, with the screen's memory from $2000 on
    lsr
    lsr
    lsr
    lsr
    lsr
    lsr
    ora #$20
    sta $2006
    lda <y,x
    and #$38
    asl
    asl
    sta <low
    lda <x,x
    lsr
    lsr
    lsr
    ora <low
    sta $2006
    lda brushes,x
    sta $2007
lifted:
    dex
    bpl paint
    lda #$80
    sta $2000
    lda #0
    sta $2005
    sta $2005

    lda #1      ; the pads give a button with every reading
    sta $4016
    lda #0
    sta $4016
    ldx #8
next_button:
    lda $4016
    lsr
    rol <pad
    lda $4017
    lsr
    rol <pad+1
    dex
    bne next_button

    inc <count
    lda <count
    and #15
    bne same_number
    lda <number ; a shift register, stirred by the pads
    asl
    bcc no_carry
    eor #$1d
no_carry:
    eor <pad
    eor <pad+1
    sta <number
    bne same_number
    inc <number
same_number:
    lda <number
    and #$4f
    sta <pad+2

    ldx #2
move:
    jsr step
    lda <pad,x
    and #$40
    beq slow
    jsr step
slow:
    txa         ; four bytes of each ball: y, tile, colours, x
    asl
    asl
    tay
    lda <y,x
    sec
    sbc #4
    sta $0200,y
    lda #4
    sta $0201,y
    txa
    sta $0202,y
    lda <x,x
    sec
    sbc #4
    sta $0203,y
    dex
    bpl move

    lda <pad    ; the tone of the first ball's place
    and #$80
    beq silent
    lda #$0f
silent:
    and #$0f
    ora #$b0
    sta $4000
    lda <x
    ora #$40
    sta $4002
    lda <count
    and #15
    bne nothing
    lda #$08
    sta $4003
nothing:
    rti

step:
    lda <pad,x
    lsr
    bcc not_right
    inc <x,x
not_right:
    lsr
    bcc not_left
    dec <x,x
not_left:
    lsr
    bcc not_down
    inc <y,x
not_down:
    lsr
    bcc not_up
    dec <y,x
not_up:
    lda <y,x    ; there are 240 rows
    cmp #232
    bcc not_below
    lda #8
    sta <y,x
not_below:
    cmp #8
    bcs not_above
    lda #231
    sta <y,x
not_above:
    rts

brushes:
    .byte 2, 3, 1
colours:
    .byte $0f, $16, $12, $00, $0f, $0f, $0f, $0f, $0f, $0f, $0f, $0f, $0f, $0f, $0f, $0f
    .byte $0f, $26, $30, $0f, $0f, $21, $30, $0f, $0f, $28, $30, $0f, $0f, $0f, $0f, $0f
