"""Messages of that API about the network: pipeline, feature extractor, box predictors, anchors, coding and matching."""

TABLE = """
message TrainEvalPipelineConfig
  1 model DetectionModel
  2 train_config TrainConfig
  3 train_input_reader InputReader
  4 eval_config EvalConfig
  5 eval_input_reader InputReader repeated
  6 graph_rewriter GraphRewriter
message DetectionModel
  1 faster_rcnn FasterRcnn oneof=model
  2 ssd Ssd oneof=model
  3 experimental_model ExperimentalModel oneof=model
  4 center_net CenterNet oneof=model
message Ssd
  1 num_classes int32
  2 image_resizer ImageResizer
  3 feature_extractor SsdFeatureExtractor
  4 box_coder BoxCoder
  5 matcher Matcher
  6 similarity_calculator RegionSimilarityCalculator
  12 encode_background_as_zeros bool default=false
  13 negative_class_weight float default=1
  7 box_predictor BoxPredictor
  8 anchor_generator AnchorGenerator
  9 post_processing PostProcessing
  10 normalize_loss_by_num_matches bool default=true
  14 normalize_loc_loss_by_codesize bool default=false
  11 loss Loss
  16 freeze_batchnorm bool default=false
  15 inplace_batchnorm_update bool default=false
  21 add_background_class bool default=true
  24 explicit_background_class bool default=false
  22 use_confidences_as_targets bool default=false
  23 implicit_example_weight float default=1
  26 return_raw_detections_during_predict bool default=false
  25 mask_head_config Ssd.MaskHead
message ImageResizer
  1 keep_aspect_ratio_resizer KeepAspectRatioResizer oneof=image_resizer_oneof
  2 fixed_shape_resizer FixedShapeResizer oneof=image_resizer_oneof
  3 identity_resizer IdentityResizer oneof=image_resizer_oneof
  4 conditional_shape_resizer ConditionalShapeResizer oneof=image_resizer_oneof
  5 pad_to_multiple_resizer PadToMultipleResizer oneof=image_resizer_oneof
message KeepAspectRatioResizer
  1 min_dimension int32 default=600
  2 max_dimension int32 default=1024
  3 resize_method ResizeType default=BILINEAR
  4 pad_to_max_dimension bool default=false
  5 convert_to_grayscale bool default=false
  6 per_channel_pad_value float repeated
enum ResizeType BILINEAR=0 NEAREST_NEIGHBOR=1 BICUBIC=2 AREA=3
message FixedShapeResizer
  1 height int32 default=300
  2 width int32 default=300
  3 resize_method ResizeType default=BILINEAR
  4 convert_to_grayscale bool default=false
message IdentityResizer
message ConditionalShapeResizer
  1 condition ConditionalShapeResizer.ResizeCondition default=GREATER
  2 size_threshold int32 default=300
  3 resize_method ResizeType default=BILINEAR
  4 convert_to_grayscale bool default=false
enum ConditionalShapeResizer.ResizeCondition INVALID=0 GREATER=1 SMALLER=2
message PadToMultipleResizer
  1 multiple int32 default=1
  4 convert_to_grayscale bool default=false
message SsdFeatureExtractor
  1 type string
  2 depth_multiplier float default=1
  3 min_depth int32 default=16
  4 conv_hyperparams Hyperparams
  9 override_base_feature_extractor_hyperparams bool default=false
  5 pad_to_multiple int32 default=1
  7 use_explicit_padding bool default=false
  8 use_depthwise bool default=false
  10 fpn FeaturePyramidNetworks oneof=feature_pyramid_oneof
  19 bifpn BidirectionalFeaturePyramidNetworks oneof=feature_pyramid_oneof
  11 replace_preprocessor_with_placeholder bool default=false
  12 num_layers int32 default=6
  20 spaghettinet_arch_name string
message Hyperparams
  1 op Hyperparams.Op default=CONV
  2 regularizer Regularizer
  3 initializer Initializer
  4 activation Hyperparams.Activation default=RELU
  5 batch_norm BatchNorm oneof=normalizer_oneof
  9 sync_batch_norm BatchNorm oneof=normalizer_oneof
  7 group_norm GroupNorm oneof=normalizer_oneof
  6 regularize_depthwise bool default=false
  8 force_use_bias bool default=false
enum Hyperparams.Op CONV=1 FC=2
message Regularizer
  1 l1_regularizer L1Regularizer oneof=regularizer_oneof
  2 l2_regularizer L2Regularizer oneof=regularizer_oneof
message L1Regularizer
  1 weight float default=1
message L2Regularizer
  1 weight float default=1
message Initializer
  1 truncated_normal_initializer TruncatedNormalInitializer oneof=initializer_oneof
  2 variance_scaling_initializer VarianceScalingInitializer oneof=initializer_oneof
  3 random_normal_initializer RandomNormalInitializer oneof=initializer_oneof
  4 keras_initializer_by_name string oneof=initializer_oneof
message TruncatedNormalInitializer
  1 mean float default=0
  2 stddev float default=1
message VarianceScalingInitializer
  1 factor float default=2
  2 uniform bool default=false
  3 mode VarianceScalingInitializer.Mode default=FAN_IN
enum VarianceScalingInitializer.Mode FAN_IN=0 FAN_OUT=1 FAN_AVG=2
message RandomNormalInitializer
  1 mean float default=0
  2 stddev float default=1
enum Hyperparams.Activation NONE=0 RELU=1 RELU_6=2 SWISH=3
message BatchNorm
  1 decay float default=0.999
  2 center bool default=true
  3 scale bool default=false
  4 epsilon float default=0.001
  5 train bool default=true
message GroupNorm
message FeaturePyramidNetworks
  1 min_level int32 default=3
  2 max_level int32 default=7
  3 additional_layer_depth int32 default=256
message BidirectionalFeaturePyramidNetworks
  1 min_level int32 default=3
  2 max_level int32 default=7
  3 num_iterations int32
  4 num_filters int32
  5 combine_method string default=fast_attention
message BoxPredictor
  1 convolutional_box_predictor ConvolutionalBoxPredictor oneof=box_predictor_oneof
  2 mask_rcnn_box_predictor MaskRCNNBoxPredictor oneof=box_predictor_oneof
  3 rfcn_box_predictor RfcnBoxPredictor oneof=box_predictor_oneof
  4 weight_shared_convolutional_box_predictor WeightSharedConvolutionalBoxPredictor oneof=box_predictor_oneof
message ConvolutionalBoxPredictor
  1 conv_hyperparams Hyperparams
  2 min_depth int32 default=0
  3 max_depth int32 default=0
  4 num_layers_before_predictor int32 default=0
  5 use_dropout bool default=true
  6 dropout_keep_probability float default=0.8
  7 kernel_size int32 default=1
  8 box_code_size int32 default=4
  9 apply_sigmoid_to_scores bool default=false
  10 class_prediction_bias_init float default=0
  11 use_depthwise bool default=false
  12 box_encodings_clip_range ConvolutionalBoxPredictor.BoxEncodingsClipRange
message ConvolutionalBoxPredictor.BoxEncodingsClipRange
  1 min float
  2 max float
message WeightSharedConvolutionalBoxPredictor
  1 conv_hyperparams Hyperparams
  19 apply_conv_hyperparams_to_heads bool default=false
  20 apply_conv_hyperparams_pointwise bool default=false
  4 num_layers_before_predictor int32 default=0
  2 depth int32 default=0
  7 kernel_size int32 default=3
  8 box_code_size int32 default=4
  10 class_prediction_bias_init float default=0
  11 use_dropout bool default=false
  12 dropout_keep_probability float default=0.8
  13 share_prediction_tower bool default=false
  14 use_depthwise bool default=false
  16 score_converter WeightSharedConvolutionalBoxPredictor.ScoreConverter default=IDENTITY
  17 box_encodings_clip_range WeightSharedConvolutionalBoxPredictor.BoxEncodingsClipRange
enum WeightSharedConvolutionalBoxPredictor.ScoreConverter IDENTITY=0 SIGMOID=1
message WeightSharedConvolutionalBoxPredictor.BoxEncodingsClipRange
  1 min float
  2 max float
message Ssd.MaskHead
  1 mask_height int32 default=15
  2 mask_width int32 default=15
  3 masks_are_class_agnostic bool default=true
  4 mask_prediction_conv_depth int32 default=256
  5 mask_prediction_num_conv_layers int32 default=2
  6 convolve_then_upsample_masks bool default=false
  7 mask_loss_weight float default=5
  8 mask_loss_sample_size int32 default=16
  9 conv_hyperparams Hyperparams
  10 initial_crop_size int32 default=15
message GraphRewriter
  1 quantization Quantization
message Quantization
  1 delay int32 default=500000
  2 weight_bits int32 default=8
  3 activation_bits int32 default=8
  4 symmetric bool default=false
message BoxCoder
  1 faster_rcnn_box_coder FasterRcnnBoxCoder oneof=box_coder_oneof
  2 mean_stddev_box_coder MeanStddevBoxCoder oneof=box_coder_oneof
  3 square_box_coder SquareBoxCoder oneof=box_coder_oneof
  4 keypoint_box_coder KeypointBoxCoder oneof=box_coder_oneof
message FasterRcnnBoxCoder
  1 y_scale float default=10
  2 x_scale float default=10
  3 height_scale float default=5
  4 width_scale float default=5
message MeanStddevBoxCoder
  1 stddev float default=0.01
message SquareBoxCoder
  1 y_scale float default=10
  2 x_scale float default=10
  3 length_scale float default=5
message KeypointBoxCoder
  1 num_keypoints int32
  2 y_scale float default=10
  3 x_scale float default=10
  4 height_scale float default=5
  5 width_scale float default=5
message Matcher
  1 argmax_matcher ArgMaxMatcher oneof=matcher_oneof
  2 bipartite_matcher BipartiteMatcher oneof=matcher_oneof
message ArgMaxMatcher
  1 matched_threshold float default=0.5
  2 unmatched_threshold float default=0.5
  3 ignore_thresholds bool default=false
  4 negatives_lower_than_unmatched bool default=true
  5 force_match_for_each_row bool default=false
  6 use_matmul_gather bool default=false
message BipartiteMatcher
  6 use_matmul_gather bool default=false
message RegionSimilarityCalculator
  1 neg_sq_dist_similarity NegSqDistSimilarity oneof=region_similarity
  2 iou_similarity IouSimilarity oneof=region_similarity
  3 ioa_similarity IoaSimilarity oneof=region_similarity
  4 thresholded_iou_similarity ThresholdedIouSimilarity oneof=region_similarity
message NegSqDistSimilarity
message IouSimilarity
message IoaSimilarity
message ThresholdedIouSimilarity
  1 iou_threshold float default=0.5
message AnchorGenerator
  1 grid_anchor_generator GridAnchorGenerator oneof=anchor_generator_oneof
  2 ssd_anchor_generator SsdAnchorGenerator oneof=anchor_generator_oneof
  3 multiscale_anchor_generator MultiscaleAnchorGenerator oneof=anchor_generator_oneof
  4 flexible_grid_anchor_generator FlexibleGridAnchorGenerator oneof=anchor_generator_oneof
message GridAnchorGenerator
  1 height int32 default=256
  2 width int32 default=256
  3 height_stride int32 default=16
  4 width_stride int32 default=16
  5 height_offset int32 default=0
  6 width_offset int32 default=0
  7 scales float repeated
  8 aspect_ratios float repeated
message SsdAnchorGenerator
  1 num_layers int32 default=6
  2 min_scale float default=0.2
  3 max_scale float default=0.95
  12 scales float repeated
  4 aspect_ratios float repeated
  13 interpolated_scale_aspect_ratio float default=1
  5 reduce_boxes_in_lowest_layer bool default=true
  6 base_anchor_height float default=1
  7 base_anchor_width float default=1
  8 height_stride int32 repeated
  9 width_stride int32 repeated
  10 height_offset int32 repeated
  11 width_offset int32 repeated
message MultiscaleAnchorGenerator
  1 min_level int32 default=3
  2 max_level int32 default=7
  3 anchor_scale float default=4
  4 aspect_ratios float repeated
  5 scales_per_octave int32 default=2
  6 normalize_coordinates bool default=true
message FlexibleGridAnchorGenerator
  1 anchor_grid AnchorGrid repeated
  2 normalize_coordinates bool default=true
message AnchorGrid
  1 base_sizes float repeated
  2 aspect_ratios float repeated
  3 height_stride uint32
  4 width_stride uint32
  5 height_offset uint32 default=0
  6 width_offset uint32 default=0
"""
